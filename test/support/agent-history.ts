import { randomUUID } from 'node:crypto';
import { type Agent, createAgent } from '../../src/agent/agent.ts';
import { comparePositions, type OutputPosition, type SequencedDelta } from '../../src/model/fleet/output.ts';
import type { ObjectKey } from '../../src/model/objects/object-key.ts';
import { objectDigest, snapshotDigest } from '../../src/model/text/digest.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import type { AgentDisk } from '../../src/ports/agent-disk.ts';
import type { ClusterApi } from '../../src/ports/cluster-api.ts';
import { createRecordingLog } from './agent-log.ts';
import { configMap, createScriptedServer, keyOf, meta, namespace, type ScriptedServer } from './agent-world.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/** The objects that histories are about. */
export const NAMES = ['a', 'b', 'c'] as const;
export type Name = (typeof NAMES)[number];

/** A cluster in which a person and an agent meet. */
export interface HistoryHome {
  open(clock: VirtualClock): Promise<{ readonly cluster: ClusterApi; readonly disk: AgentDisk }>;
  /** Releases what an agent that crashed had open. */
  release(): Promise<void>;
  person(what: PersonDoes, name: Name): void;
  pause(on: boolean): void;
  /** Throws if something of a person is not as they left it. */
  checkForeign(): void;
  hasForeign(key: ObjectKey): boolean;
  /** What lies there with our stamp, by key; anything else that is not a person's is an error. */
  ours(): ReadonlyMap<ObjectKey, JsonObject>;
}

export type PersonDoes = 'edits' | 'takes over' | 'creates' | 'removes' | 'renames' | 'copies';
type Crash = 'before' | 'after';
export type Happening =
  | { readonly type: 'wants'; readonly name: Name; readonly value: '1' | '2' | undefined }
  | { readonly type: 'person'; readonly what: PersonDoes; readonly name: Name }
  | { readonly type: 'send'; readonly touch: boolean }
  | { readonly type: 'connection'; readonly on: boolean }
  | { readonly type: 'pause'; readonly on: boolean }
  | { readonly type: 'time'; readonly milliseconds: number }
  | { readonly type: 'crash'; readonly at: Crash; readonly step: number }
  | { readonly type: 'fail'; readonly writes: number };

interface History {
  readonly home: HistoryHome;
  readonly clock: VirtualClock;
  readonly wanted: Map<ObjectKey, JsonObject>;
  /** Removals that were named and not called off since. */
  readonly mayGo: Set<ObjectKey>;
  /** Digests of all snapshots that were ever sent. */
  readonly sent: Set<string>;
  sequence: number;
  position: OutputPosition;
  /** The next writes fail. */
  failing: number;
  /** The process ends at this write. */
  crash: { readonly at: Crash; left: number } | undefined;
  connected: boolean;
  life: Life;
}

/** One process of the agent. */
interface Life {
  dead: boolean;
  readonly died: Promise<void>;
  readonly die: () => void;
  agent: Agent;
  server: ScriptedServer;
}

/**
 * Plays a history with a real agent. Throws where the agent did what it must not: touched what is a person's, removed what
 * no delta named, held what was never sent, lowered its position; or, once everything is quiet, did not do what it must.
 */
export async function playHistory(home: HistoryHome, happenings: readonly Happening[]): Promise<void> {
  const history = await begin(home);
  try {
    for (const happening of happenings) {
      await happen(history, happening);
      check(history);
    }
    await comeToRest(history);
  } finally {
    if (!history.life.dead) await history.life.agent.stop();
  }
}

async function begin(home: HistoryHome): Promise<History> {
  const history: Omit<History, 'life'> & { life?: Life } = {
    home,
    clock: createVirtualClock(),
    wanted: new Map([[keyOf(namespace('web')), namespace('web')]]),
    mayGo: new Set(),
    sent: new Set([snapshotDigest([])]),
    sequence: 0,
    position: { epoch: 0, sequence: 0 },
    failing: 0,
    crash: undefined,
    connected: false,
  };
  const begun = history as History;
  begun.life = await live(begun);
  return begun;
}

async function live(history: History): Promise<Life> {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const life = { dead: false, died, die: resolve } as Life;
  const { cluster, disk } = await history.home.open(history.clock);
  const { client, server } = createScriptedServer({ held: new Map(), sequence: 0 });
  const deps = {
    cluster: mortalCluster(history, life, cluster),
    disk: mortalDisk(history, life, disk),
    relay: client,
    clock: history.clock,
    random: { next: () => 0.5, id: randomUUID },
    log: createRecordingLog(),
  };
  life.agent = createAgent(deps);
  life.server = server;
  await life.agent.start();
  history.connected = false;
  return life;
}

/** A write that may fail, and in which the process may end. */
async function write<Value>(
  history: History,
  life: Life,
  act: () => Promise<Value>,
  fail: () => Value,
): Promise<Value> {
  if (life.dead) return never();
  if (history.failing > 0) {
    history.failing -= 1;
    return fail();
  }
  const { crash } = history;
  const ends = crash !== undefined && crash.left-- === 0;
  if (!ends) return act();
  history.crash = undefined;
  if (crash.at === 'after') await act();
  life.dead = true;
  life.die();
  return never();
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}

function mortalCluster(history: History, life: Life, cluster: ClusterApi): ClusterApi {
  const failed = { type: 'failed', reason: 'Broken', message: 'no' } as const;
  const full = (): never => {
    throw new Error('disk full');
  };
  return {
    ...cluster,
    list: (depth) => (life.dead ? never() : cluster.list(depth)),
    apply: (request) =>
      write(
        history,
        life,
        () => cluster.apply(request),
        () => failed,
      ),
    remove: (request) => {
      if (!life.dead && !history.mayGo.has(request.key))
        throw new Error(`${request.key} is removed, and no delta named it`);
      return write(
        history,
        life,
        () => cluster.remove(request),
        () => failed,
      );
    },
    saveInventory: (change) => write(history, life, () => cluster.saveInventory(change), full),
  };
}

function mortalDisk(history: History, life: Life, disk: AgentDisk): AgentDisk {
  const full = (): never => {
    throw new Error('disk full');
  };
  return {
    ...disk,
    append: (step) => write(history, life, () => disk.append(step), full),
    replace: (output) => write(history, life, () => disk.replace(output), full),
  };
}

async function happen(history: History, happening: Happening): Promise<void> {
  const { home, clock } = history;
  switch (happening.type) {
    case 'wants':
      if (happening.value === undefined) history.wanted.delete(keyOf(configMap(happening.name, '')));
      else {
        const value = configMap(happening.name, happening.value);
        history.wanted.set(keyOf(value), value);
      }
      return;
    case 'person':
      home.person(happening.what, happening.name);
      return;
    case 'send':
      if (history.connected) await send(history, happening.touch);
      return;
    case 'connection':
      history.life.server.connect(happening.on ? 'connected' : 'waiting');
      history.connected = happening.on;
      return;
    case 'pause':
      home.pause(happening.on);
      return;
    case 'time':
      await clock.advance(happening.milliseconds);
      if (history.life.dead) await revive(history);
      return;
    case 'crash':
      history.crash = { at: happening.at, left: happening.step };
      return;
    case 'fail':
      history.failing = happening.writes;
      return;
  }
}

async function revive(history: History): Promise<void> {
  // What a dead process waits for never comes.
  void history.life.agent.stop();
  await history.home.release();
  history.crash = undefined;
  history.failing = 0;
  history.life = await live(history);
}

/** What a server sends that knows only what the agent says it holds. */
async function send(history: History, touch: boolean): Promise<void> {
  const { server, died } = history.life;
  const holding = server.holding();
  const entries = new Map(holding.entries.map((entry) => [entry.key, entry]));
  const after = new Map(
    holding.entries.filter(({ phase }) => phase === 'held').map(({ key, digest }) => [key, digest]),
  );
  const upserts: SequencedDelta['upserts'][number][] = [];
  const keeps: SequencedDelta['keeps'][number][] = [];
  for (const [key, value] of history.wanted) {
    const digest = objectDigest(value);
    const entry = entries.get(key);
    // A removal is called off without the content wherever that is possible.
    if (entry?.digest !== digest) upserts.push({ key, value, digest, ...meta });
    else if (entry.phase === 'removing') keeps.push({ key, reason: 'test' });
    after.set(key, digest);
  }
  const removals = [...entries.values()]
    .filter(({ key, phase }) => phase === 'held' && !history.wanted.has(key))
    .map(({ key }) => key);
  for (const key of removals) after.delete(key);
  const touches = [...after.keys()]
    .filter((key) => touch && entries.get(key)?.phase === 'held' && !upserts.some((upsert) => upsert.key === key))
    .map((key) => ({ ...meta, key, origins: [{ ...meta.origins[0]!, path: `${history.sequence}.yaml` }] }));
  history.sequence = Math.max(history.sequence, holding.position.sequence) + 1;
  const to = snapshotDigest([...after]);
  const position = { epoch: 1, sequence: history.sequence };
  const forged = { position, from: holding.digest, to, upserts, touches, removals, keeps };
  history.sent.add(to);
  for (const key of removals) history.mayGo.add(key);
  // Earlier results are about the objects before this delta: a server forgets them.
  const remembered = server.results.filter(({ key }) => !removals.includes(key));
  server.results.splice(0, server.results.length, ...remembered);
  const answer = await Promise.race([server.say({ forged }), died.then(() => undefined)]);
  if (answer === undefined) return revive(history);
  if (answer.accepted) for (const { key } of [...upserts, ...keeps]) history.mayGo.delete(key);
  // A removal may have ended before it could be called off; with the next delta the object comes with its content.
  else if (answer.reason !== 'NotDurable' && !(answer.reason === 'DigestMismatch' && keeps.length > 0))
    throw new Error(`a right delta was refused: ${answer.reason}`);
}

function check(history: History): void {
  history.home.checkForeign();
  const { position, digest } = history.life.server.holding();
  if (comparePositions(position, history.position) < 0) throw new Error('the agent lowered its position');
  history.position = position;
  if (!history.sent.has(digest)) throw new Error('the agent holds a state that was never sent');
}

/** Makes no further change; then the agent must reach the state that its server wants. */
async function comeToRest(history: History): Promise<void> {
  history.home.pause(false);
  history.failing = 0;
  history.crash = undefined;
  history.life.server.connect();
  history.connected = true;
  let wrong: string | undefined;
  for (let round = 0; round < 30; round += 1) {
    // The last crash may only now come to its end.
    if (history.life.dead) await revive(history);
    if (!history.connected) history.life.server.connect();
    history.connected = true;
    const wanted = snapshotDigest([...history.wanted].map(([key, value]) => [key, objectDigest(value)]));
    if (history.life.server.holding().digest !== wanted) await send(history, false);
    await history.clock.advance(60_000);
    check(history);
    wrong = restlessness(history);
    if (wrong === undefined) return;
    // Writes of a real disk end in real time, not by the clock.
    if (round > 2) await new Promise((resolve) => setTimeout(resolve, round));
  }
  throw new Error(`it does not come to rest: ${wrong}`);
}

function restlessness({ home, life, wanted }: History): string | undefined {
  const ours = home.ours();
  const results = new Map(life.server.results.map((result) => [result.key, result]));
  for (const [key, value] of wanted) {
    const result = results.get(key);
    if (result?.digest !== objectDigest(value)) return `${key} has no result for what it should be`;
    const isSo = JSON.stringify(ours.get(key)) === JSON.stringify(value);
    if (result.state === 'applied' && !isSo) return `${key} is called applied and is not so`;
    if (result.state === 'applied') continue;
    if (result.state !== 'conflict' || !home.hasForeign(key)) return `${key} is ${result.state} ${result.reason}`;
  }
  for (const key of ours.keys()) if (!wanted.has(key)) return `${key} is left over`;
  const { entries } = life.server.holding();
  return entries.every(({ phase }) => phase === 'held') ? undefined : 'a removal does not end';
}
