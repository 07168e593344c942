import { lazy } from './lazy.ts';

/**
 * The composition roots that commands of the core start. Each module is loaded when its root is first called: no command loads the
 * modules of another one. A root resolves with an exit code or an answer, and rejects with a message for people.
 */
export const compositionRoots = {
  serve: lazy(async () => (await import('../compose/serve/serve.ts')).runServe),
  agent: lazy(async () => (await import('../compose/agent/agent.ts')).runAgent),
  validate: lazy(async () => (await import('../compose/validate/validate.ts')).validatePaths),
  findDocuments: lazy(async () => (await import('../compose/validate/find-documents.ts')).findDocuments),
  render: lazy(async () => (await import('../compose/render/render.ts')).renderRepository),
  planDocuments: lazy(async () => (await import('../compose/plan/plan-documents.ts')).planDocuments),
  planFolder: lazy(async () => (await import('../compose/plan/plan-folder.ts')).planFolder),
  isFolder: lazy(async () => (await import('../compose/plan/plan-folder.ts')).isFolder),
  writeRecording: lazy(async () => (await import('../compose/snapshot/record.ts')).writeRecording),
  replayRecording: lazy(async () => (await import('../compose/snapshot/replay.ts')).replayRecording),
  diffRecordings: lazy(async () => (await import('../compose/snapshot/replay.ts')).diffRecordings),
  exportSchemas: lazy(async () => (await import('../compose/schema/export-schemas.ts')).exportSchemas),
  initRepository: lazy(async () => (await import('../compose/init/init.ts')).initRepository),
  installHook: lazy(async () => (await import('../compose/init/hook.ts')).installHook),
  token: lazy(async () => (await import('../compose/cluster/token.ts')).printedToken),
  clusterRegister: lazy(async () => (await import('../compose/cluster/register.ts')).registerCluster),
  clusterDeregister: lazy(async () => (await import('../compose/cluster/deregister.ts')).deregisterCluster),
  clusterResetPosition: lazy(async () => (await import('../compose/cluster/reset-position.ts')).resetPosition),
  clusterAdopt: lazy(async () => (await import('../compose/cluster/adopt.ts')).previewAdoption),
  check: lazy(async () => (await import('../compose/check/checks.ts')).runChecks),
  debugSnapshot: lazy(async () => (await import('../compose/debug/snapshot.ts')).takeDebugSnapshot),
};

export type Roots = typeof compositionRoots;
