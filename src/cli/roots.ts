import type { Finding } from '../compose/check/finding.ts';
import type { AdoptReport, AdoptRequest } from '../compose/cluster/adopt-verdict.ts';
import type { DeregisterReport, DeregisterRequest } from '../compose/cluster/deregister.ts';
import type { RegisterReport, RegisterRequest } from '../compose/cluster/register.ts';
import type { DebugManifest, DebugSnapshotRequest } from '../compose/debug/snapshot.ts';
import type { KubeTarget } from '../compose/kube.ts';
import type { AgentOptions, ClusterTokenRequest, RunIo, ServeOptions } from '../compose/options.ts';
import type { RenderRequest } from '../compose/render/render.ts';
import type { Rendering } from '../compose/render/rendering.ts';
import type { ValidationReport, ValidationRequest } from '../compose/validate.ts';
import type { FleetView, OutputView } from '../server/api.ts';

/** The composition roots that commands start. Each resolves with an exit code or an answer, and rejects with a message for a person. */
export interface Roots {
  serve(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number>;
  agent(options: AgentOptions, signal: AbortSignal, io: RunIo): Promise<number>;
  validate(request: ValidationRequest): Promise<ValidationReport>;
  render(request: RenderRequest): Promise<Rendering>;
  clusterToken(request: ClusterTokenRequest): Promise<string>;
  clusterRegister(request: RegisterRequest, io: RunIo): Promise<RegisterReport>;
  clusterDeregister(request: DeregisterRequest, io: RunIo): Promise<DeregisterReport>;
  clusterAdopt(request: AdoptRequest, io: RunIo): Promise<AdoptReport>;
  checkFleet(
    fleet: FleetView,
    outputs: readonly OutputView[],
    command: { readonly version: string; readonly api: string },
  ): Promise<readonly Finding[]>;
  checkRepository(folder: string, io: RunIo): Promise<readonly Finding[]>;
  checkKubernetes(target: KubeTarget, io: RunIo): Promise<readonly Finding[]>;
  debugSnapshot(request: DebugSnapshotRequest, io: RunIo): Promise<DebugManifest>;
}

/** The real ones, each loaded when it is first called: no command pays for what another one needs. */
export const compositionRoots: Roots = {
  serve: async (...args) => (await import('../compose/serve/serve.ts')).runServe(...args),
  agent: async (...args) => (await import('../compose/agent/agent.ts')).runAgent(...args),
  validate: async (request) => (await import('../compose/validate.ts')).validatePaths(request),
  render: async (request) => (await import('../compose/render/render.ts')).renderRepository(request),
  clusterToken: async (request) => (await import('../compose/cluster/token.ts')).clusterToken(request),
  clusterRegister: async (...args) => (await import('../compose/cluster/register.ts')).registerCluster(...args),
  clusterDeregister: async (...args) => (await import('../compose/cluster/deregister.ts')).deregisterCluster(...args),
  clusterAdopt: async (...args) => (await import('../compose/cluster/adopt.ts')).previewAdoption(...args),
  checkFleet: async (...args) => (await import('../compose/check/fleet.ts')).fleetFindings(...args),
  checkRepository: async (...args) => (await import('../compose/check/repository.ts')).repositoryFindings(...args),
  checkKubernetes: async (...args) => (await import('../compose/check/kubernetes.ts')).kubernetesFindings(...args),
  debugSnapshot: async (...args) => (await import('../compose/debug/snapshot.ts')).takeDebugSnapshot(...args),
};
