import type { Engine } from '../../../src/engine/graph.ts';
import type { LedgerEntry } from '../../../src/model/fleet/ledger.ts';
import type { OutputPosition } from '../../../src/model/fleet/output.ts';
import { STATUS_BRANCH } from '../actors/server.ts';
import { BEGINNING } from '../core/process.ts';
import type { SimCluster } from '../ports/cluster.ts';
import { QUOTAS, type World } from '../world.ts';
import type { MakeChecker } from './checker.ts';

/** Events of the world between two looks at the servers. */
const LOOK_EVERY = 25;
/** A server's clock, and the epochs that it begins, are ahead of the world by less than this. */
const AHEAD_MS = 60_000;
/** More than anything that is admitted or sent in a world. */
const MOST_STEPS = 100_000;
/** Why a server ends the stream of an agent that keeps to the protocol. */
const BREACHES =
  /^(Malformed\w*|Bad\w*|OutOfTurn|UnknownKey|DigestMismatch|WrongDigest|AboveQuota|TransferTooLarge|FrameTooLarge|Implausible\w*)$/;

/**
 * A hostile cluster costs the others nothing: that each promise holds for them is for the other checkers. This one says that no
 * counter of the fleet follows the word of the agent; that what it invents is proven nowhere and has no status; that the server
 * of its agent keeps no result of it; that all it says is bounded by its quotas; and that where a server ends a stream for a breach of
 * the protocol, its log names the culprit.
 */
export const containment: MakeChecker = (world, fail) => {
  const { hostile } = world;
  if (hostile === undefined) return { name: 'containment' };
  const { cluster } = hostile;
  const sent = new Set<string>();
  /** A server has decided on a delta that has not left yet, and its ledger shows it. */
  let isDeciding = false;
  /** The process that its agent has connected to last: the others have what they have read of the store. */
  let servedBy: string | undefined;
  /** The store has lost records: it may have results of objects that were sent, and not their entries. */
  let hasLost = false;
  let steps = 0;
  let tip: string | undefined;

  world.listen((event) => {
    if (event.type === 'connected' && event.cluster === cluster) {
      isDeciding = false;
      servedBy = event.process;
    }
    if (event.type === 'departed' && event.cluster === cluster) isDeciding = false;
    if (event.type === 'evicted' || event.type === 'storeLost') hasLost = true;
    if (event.type === 'departed') {
      checkPosition(`a delta for ${event.cluster.name}`, event.delta.admitted);
      if (event.cluster !== cluster) checkPosition(`the position of ${event.cluster.name}`, event.delta.position);
      else for (const { key } of [...event.delta.upserts, ...event.delta.touches]) sent.add(key);
    }
    if (event.type !== 'log') return;
    const { data, message } = event.line;
    if (message === 'a delta is sent' && data.cluster === cluster.name) isDeciding = true;
    if (message !== 'relay: a stream has ended') return;
    if (!BREACHES.test(String(data.reason)) || data.cluster === cluster.name) return;
    fail(`a server ends the stream of ${String(data.cluster)}, whose agent is honest: ${String(data.reason)}`);
  });

  function checkPosition(what: string, position: OutputPosition | undefined): void {
    if (position === undefined) return;
    const { epoch, sequence } = position;
    if (epoch > BEGINNING + world.time.elapsed() + AHEAD_MS || sequence > MOST_STEPS) {
      fail(`${what} is (${epoch}, ${sequence}), which only the hostile agent of ${cluster.name} has said`);
    }
  }
  const look = (): void => {
    for (const { life } of world.servers) {
      const { server, process } = life() ?? {};
      if (server === undefined) continue;
      checkPosition('the admission of a server', server.replica.admitted());
      for (const problem of aboveQuota(server.engine, cluster, sent)) fail(problem);
      if (process?.name === servedBy)
        for (const problem of unneeded(server.engine, cluster, hasLost ? sent : new Set())) fail(problem);
      if (isDeciding) continue;
      for (const problem of unfounded(server.engine, cluster, sent)) fail(problem);
    }
    const now = world.repositories[0]?.remote.tip(STATUS_BRANCH);
    if (now !== tip) for (const problem of inventedStatus(world)) fail(problem);
    tip = now;
  };
  return {
    name: 'containment',
    stepped: () => {
      steps += 1;
      if (steps % LOOK_EVERY === 0) look();
    },
    atRest: look,
  };
};

/** What a server believes of the hostile cluster without proof. */
function* unfounded({ inputs }: Engine, { name }: SimCluster, sent: ReadonlySet<string>): Generator<string> {
  for (const { key, value } of inputs.ledger.entries(name)) {
    // What is in flight is of a server, and of no agent; the delta may never have left.
    if (value.phase === 'inFlight' || value.unproven === true || sent.has(key)) continue;
    yield `${key} of ${name} counts as sent, and no server has sent it`;
  }
}

/** Results that the server of the hostile cluster keeps without need. `founded`: objects whose entries may be missing. */
function* unneeded({ inputs }: Engine, { name }: SimCluster, founded: ReadonlySet<string>): Generator<string> {
  for (const { key } of inputs.results.entries(name)) {
    if (inputs.ledger.get(name, key) === undefined && !founded.has(key))
      yield `a result of ${key} is kept for ${name}, which was not sent it`;
  }
}

/** What a server keeps of the word of the hostile cluster above its quotas. */
function* aboveQuota({ inputs }: Engine, { name }: SimCluster, sent: ReadonlySet<string>): Generator<string> {
  const live = inputs.live.size(name);
  if (live > QUOTAS.objects) yield `${live} live objects of ${name} are kept, and its quota is ${QUOTAS.objects}`;
  // What people want in the cluster comes on top.
  const isSaid = ({ key, value }: { readonly key: string; readonly value: LedgerEntry }): boolean =>
    value.phase !== 'inFlight' && !sent.has(key);
  const entries = [...inputs.ledger.entries(name)].filter(isSaid).length;
  if (entries > QUOTAS.objects) yield `${entries} entries of ${name} are kept, and its quota is ${QUOTAS.objects}`;
}

/** Objects that the agent has invented, and that have a file on the status branch. */
function* inventedStatus({ repositories }: World): Generator<string> {
  const remote = repositories[0]?.remote;
  const tip = remote?.tip(STATUS_BRANCH);
  if (remote === undefined || tip === undefined) return;
  for (const path of Object.keys(remote.files(tip))) {
    if (path.startsWith('objects/') && path.includes('invented-'))
      yield `there is a status of an invented object: ${path}`;
  }
}
