import type { Engine } from '../../engine/graph.ts';
import { PART_RECORDS } from '../../model/fleet/input-parts.ts';
import { DEFAULT_QUOTAS } from '../../model/limits/quotas.ts';
import { createAssumedWarmRecovery } from '../../runtime/ledger/assumed-warm.ts';
import {
  createContenderRecorder,
  createDeclarationRecorder,
  createDeregistration,
  createHoldRecorder,
} from '../../runtime/ledger/recorders.ts';
import { createRefusedAgents } from '../../runtime/refused-agents.ts';
import { createApprovalFiles } from '../../runtime/removals/approval-files.ts';
import { createHeldSets } from '../../runtime/removals/approvals.ts';
import { createSafeModeLog, createSafeStart } from '../../runtime/safe-mode.ts';
import type { Sessions } from '../../runtime/sessions.ts';
import { createSender } from '../../sinks/agents/sender.ts';
import { createSettingsSender } from '../../sinks/agents/settings.ts';
import { createAgentSource } from '../../sources/agents/agents.ts';
import { countedWhileLeading, listenerOfReplica } from './among-replicas.ts';
import type { ServerOptions } from './server-deps.ts';
import type { Parts } from './wire-replica.ts';

/** What takes the messages of agents, and sends them what they should hold. */
export function wireAgents(parts: Parts, options: ServerOptions & { readonly signer: string }) {
  const { fleet, signer, quotas = DEFAULT_QUOTAS, partRecords = PART_RECORDS, deltaBytes } = options;
  const { engine, events, loop, fleet: records, sessions, replica, approvals } = parts;
  const windows = countedWhileLeading(parts.windows, replica);
  const { mayStart, knowsAll } = replica;
  loop.addRecorder('judgements', createSafeStart(parts, mayStart));
  loop.addRecorder('contenders', createContenderRecorder(engine, records));
  const heldSets = createHeldSets(parts);
  loop.addRecorder('approvals', createApprovalFiles({ ...parts, heldSets }));
  loop.addRecorder('holds', createHoldRecorder(engine, records, approvals));
  loop.addRecorder('declarations', createDeclarationRecorder(engine, records));
  const recovery = createAssumedWarmRecovery(parts, parts.ledger, knowsAll);
  loop.addRecorder('deregistration', createDeregistration(parts, parts, recovery, knowsAll));
  loop.addRecorder('deregistration', () => recovery.extend());
  const sender = createSender({ ...parts, windows, signer, ...(deltaBytes && { deltaBytes }) });
  loop.addSink('windows', () => parts.windows.recount());
  loop.addSink('readers', createSafeModeLog(parts, mayStart));
  const settings = createSettingsSender(parts, knowsAll);
  const refusedAgents = createRefusedAgents(parts, replica);
  loop.addSink('deltas', () => sender.run());
  loop.addSink('deltas', () => settings.run());
  loop.addSink('deltas', endSessionsOfDeregistered(engine, sessions));
  const listener = createAgentSource({
    ...parts,
    fleet,
    quotas,
    partRecords,
    recovery,
    mayStart,
    knowsAll,
    refusedAgents,
    enrolledAgain: (request, serial) => events.emit('enrolledAgain', { request, serial }),
    connected: (cluster, holding) => {
      parts.history.connected(cluster, holding);
      sender.connected(cluster, holding);
      settings.connected(cluster);
    },
  });
  return { heldSets, refusedAgents, listener: listenerOfReplica(listener, parts) };
}

/** Returns a function that ends the session of each cluster that is not registered any more. The cluster keeps its objects. */
function endSessionsOfDeregistered(engine: Engine, sessions: Sessions): () => void {
  const clusters = engine.graph.watch(engine.clusters);
  return () => {
    for (const { key, after } of clusters.take()) {
      if (after !== undefined) continue;
      const message = `no KubernetesCluster ${key} is declared any more; what the cluster holds stays as it is`;
      sessions.get(key)?.session.close('refused', 'UnknownCluster', message);
    }
  };
}
