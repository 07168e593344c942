import { engineDomains } from '../../src/domains/engines.ts';
import { createGraph } from '../../src/engine/collections/graph.ts';
import { createEngine } from '../../src/engine/graph.ts';
import { parseClusterName, parseSourceName } from '../../src/model/fleet/ids.ts';
import type { LedgerEntry } from '../../src/model/fleet/ledger.ts';
import type { SequencedDelta } from '../../src/model/fleet/output.ts';
import { sha256, snapshotDigest } from '../../src/model/text/digest.ts';
import { must } from '../../src/model/values/result.ts';
import { DEFAULT_LIMITS } from '../../src/relay/limits.ts';
import type { AgentSession, SendOutcome } from '../../src/relay/session.ts';
import { packChunks, type unpackChunk } from '../../src/relay/transfer.ts';
import { outputHead, outputRecords } from '../../src/relay/wire/output.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { createSender } from '../../src/sinks/agents/sender.ts';
import { decodeFile } from '../../test/support/decode-file.ts';
import { clusterYaml, configMapYaml } from '../../test/support/manifests.ts';
import { complainingLog, ignore, stillClock } from './stand-ins.ts';

/** A delta as it travels. */
export interface Travelling {
  readonly head: ReturnType<typeof outputHead>['value'];
  readonly chunks: readonly Parameters<typeof unpackChunk>[0][];
}

export const CLUSTER = must(parseClusterName('east'));
const SOURCE = must(parseSourceName('main'));

/** The engine and the sender of a server with one cluster; store, timers and network are stand-ins. */
export function createServerEnd(objects: number) {
  const engine = createEngine(createGraph(), engineDomains);
  const loop = createLoop({ engine, clock: stillClock, log: complainingLog });
  const sent: { readonly delta: SequencedDelta; readonly answer: (outcome: SendOutcome) => void }[] = [];
  let sequence = 0;
  const ledger = {
    registration: () => ({}),
    nextPosition: () => {
      sequence += 1;
      return { epoch: 1, sequence };
    },
    setEntry: (cluster: string, key: string, entry: LedgerEntry) => engine.inputs.ledger.set(cluster, key, entry),
    setResult: ignore,
  };
  const session = {
    send: (delta: SequencedDelta) => new Promise<SendOutcome>((answer) => void sent.push({ delta, answer })),
  } as unknown as AgentSession;
  const sessions = new Map();
  const parts = {
    ...{ engine, loop, ledger, sessions, clock: stillClock, log: complainingLog },
    windows: { leaving: ignore, arrived: ignore, holds: ignore },
    history: { sent: ignore, answered: ignore },
    replica: { mayStart: () => true, obstacle: ignore, admitted: ignore },
    sources: { revisions: () => [{ source: SOURCE, revision: 'r1' }] },
  };
  const sender = createSender(parts as unknown as Parameters<typeof createSender>[0]);
  loop.addSink('deltas', sender.run);
  const path = (at: number): string => `clusters/${CLUSTER}/object-${at}.yaml`;
  const stage = (file: string, text: string): void => {
    const { reading } = decodeFile(file, new TextEncoder().encode(text), sha256(text));
    stageFile(engine, SOURCE, file, reading);
  };
  loop.begin();
  loop.transact(() => {
    engine.inputs.fleet.set('', '', {
      bounds: { guards: {}, safeModes: [], webhookRemediator: false },
      role: 'leader',
    });
    engine.inputs.sources.set('', SOURCE, { order: 0, read: true });
    stage('cluster.yaml', clusterYaml(CLUSTER));
    for (let at = 0; at < objects; at += 1) stage(path(at), configMapYaml(`object-${at}`, `0 ${'x'.repeat(200)}`));
  });
  sessions.set(CLUSTER, {
    session,
    holds: snapshotDigest([]),
    inFlight: false,
    isStaging: false,
    rejections: 0,
    isPaused: false,
  });
  sender.connected(CLUSTER, { entries: [] } as never);
  loop.settle();

  return {
    /** Changes one object. */
    change: (at: number, datum: string): void =>
      loop.transact(() => stage(path(at), configMapYaml(`object-${at}`, `${datum} ${'x'.repeat(200)}`))),
    /** Makes the delta of what has changed, as it is written to the network. */
    make: (): Travelling => {
      loop.settle();
      const delta = sent.at(-1)?.delta;
      if (delta === undefined) throw new Error('no delta was made');
      return {
        head: outputHead(delta).value,
        chunks: [...packChunks(outputRecords(delta, DEFAULT_LIMITS.objectBytes))],
      };
    },
    /** The agent has accepted the delta. */
    accepted: async (): Promise<void> => {
      sent.pop()?.answer({ type: 'accepted' });
      await Promise.resolve();
      await Promise.resolve();
      loop.settle();
    },
    inFlight: (): number =>
      [...engine.inputs.ledger.entries(CLUSTER)].filter(({ value }) => value.phase === 'inFlight').length,
  };
}
