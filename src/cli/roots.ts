import type { AgentOptions, ClusterTokenRequest, DemoOptions, RunIo, ServeOptions } from '../compose/options.ts';
import type { ValidationReport, ValidationRequest } from '../compose/validate.ts';

/** The composition roots that commands start. Each resolves with an exit code or an answer, and rejects with a message for a person. */
export interface Roots {
  serve(options: ServeOptions, signal: AbortSignal, io: RunIo): Promise<number>;
  agent(options: AgentOptions, signal: AbortSignal, io: RunIo): Promise<number>;
  demo(options: DemoOptions, signal: AbortSignal, io: RunIo): Promise<number>;
  validate(request: ValidationRequest): Promise<ValidationReport>;
  clusterToken(request: ClusterTokenRequest): Promise<string>;
}

/** The real ones, each loaded when it is first called: no command pays for what another one needs. */
export const compositionRoots: Roots = {
  serve: async (...args) => (await import('../compose/serve.ts')).runServe(...args),
  agent: async (...args) => (await import('../compose/agent.ts')).runAgent(...args),
  demo: async (...args) => (await import('../compose/demo.ts')).runDemo(...args),
  validate: async (request) => (await import('../compose/validate.ts')).validatePaths(request),
  clusterToken: async (request) => (await import('../compose/cluster-token.ts')).clusterToken(request),
};
