import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from 'js-yaml';
import type { DeltaView } from '../../src/api/history-api.ts';
import type { WhyNotView } from '../../src/api/why-api.ts';
import type { PlanView } from '../../src/model/plan/plan.ts';
import { isJsonObject } from '../../src/model/text/json.ts';
import { errorText } from '../../src/model/text/messages.ts';
import type { DemoObject } from './clusters.ts';
import { clusterNames, type Stage } from './stage.ts';

/** One step of the story. */
export interface Step {
  readonly name: string;
  readonly title: string;
  /** Acts, waits for the effect, and returns a description of it. Rejects if the effect does not occur. */
  readonly play: (stage: Stage, signal: AbortSignal) => Promise<string>;
}

const SETTINGS = join('apps', 'shop', 'settings.yaml');
/** The ConfigMap of the shop, in each of {@link SHOP_CLUSTERS}. */
export const liveSettings: DemoObject = { kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
const LIVE_WEB: DemoObject = { kind: 'Deployment.apps', namespace: 'shop', name: 'web' };
/** The branch that removes the shop. */
const CLOSING = 'close-the-shop';
const SHOP_CLUSTERS = ['east', 'west'] as const;

/** All steps in order; each one continues from the state after the one before. */
export const story: readonly [Step, ...Step[]] = [
  { name: 'sync', title: 'the repository reaches three clusters', play: sync },
  { name: 'push', title: 'a pushed change arrives in every cluster that it is for', play: pushChange },
  { name: 'drift', title: 'an edit of a live object is put back', play: drift },
  { name: 'absent', title: 'an agent is stopped: other clusters are served, nothing is lost', play: absent },
  { name: 'return', title: 'the agent reconnects and catches up', play: comeBack },
  { name: 'typo', title: 'a broken file stops no other file and removes nothing', play: typo },
  { name: 'plan', title: 'a branch is planned before it is merged', play: planBranch },
  { name: 'guard', title: 'a push that removes much is held, as it was planned', play: guard },
  { name: 'why-not', title: 'explain --why-not names what an object waits for', play: whyNot },
  { name: 'approve', title: 'a person approves it', play: approve },
  { name: 'history', title: 'history names the commits and the approval', play: history },
  { name: 'explain', title: 'explain names the origin of an object', play: explain },
  { name: 'status', title: 'the status branch has the state of the last commit', play: status },
];

async function sync(stage: Stage, signal: AbortSignal): Promise<string> {
  const view = await until(
    'all three clusters are in sync',
    async () => {
      const seen = await stage.status();
      return seen.clusters.length === clusterNames.length && seen.clusters.every(({ inSync }) => inSync)
        ? seen
        : undefined;
    },
    signal,
  );
  const figures = view.clusters.map(({ name, counts }) => `${name} ${counts.applied}`).join(', ');
  await mustBeThere(stage, 'east', liveSettings);
  return `${view.summary}; objects: ${figures}`;
}

async function pushChange(stage: Stage, signal: AbortSignal): Promise<string> {
  await editSettings(stage, 'Good morning');
  const commit = await stage.work.push('Greet politely');
  for (const name of SHOP_CLUSTERS) await untilGreeting(stage, name, 'Good morning', signal);
  return `commit ${commit.slice(0, 12)} is in ${SHOP_CLUSTERS.join(' and ')}; edge has no shop and was not changed`;
}

async function drift(stage: Stage, signal: AbortSignal): Promise<string> {
  const east = stage.cluster('east');
  await east.edit(liveSettings, 'greeting', 'Go away');
  await untilGreeting(stage, 'east', 'Good morning', signal);
  await east.remove(liveSettings);
  await untilGreeting(stage, 'east', 'Good morning', signal);
  return 'a changed and then a deleted object in east are as declared again';
}

async function absent(stage: Stage, signal: AbortSignal): Promise<string> {
  await stage.stopAgent('west');
  await editSettings(stage, 'Good evening');
  await stage.work.push('Greet in the evening');
  await untilGreeting(stage, 'east', 'Good evening', signal);
  const summary = await untilSummary(stage, (text) => /waiting for west: disconnected since/.test(text), signal);
  if ((await greeting(stage, 'west')) !== 'Good morning') throw new Error('west changed without its agent');
  return summary;
}

async function comeBack(stage: Stage, signal: AbortSignal): Promise<string> {
  await stage.startAgent('west');
  await untilGreeting(stage, 'west', 'Good evening', signal);
  return untilSummary(stage, (text) => text === 'applied by 3 of 3 clusters', signal);
}

async function typo(stage: Stage, signal: AbortSignal): Promise<string> {
  const web = join(stage.work.directory, 'apps', 'shop', 'web.yaml');
  const good = await readFile(web, 'utf8');
  await writeFile(web, `${good}\n  broken: [\n`);
  await editSettings(stage, 'Good night');
  await stage.work.push('Greet at night, with a typo elsewhere');
  for (const name of SHOP_CLUSTERS) await untilGreeting(stage, name, 'Good night', signal);
  const found = await until(
    'the broken file is reported with its line',
    async () =>
      (await stage.status()).diagnostics.find(({ at }) => at?.path === 'apps/shop/web.yaml' && at.line !== undefined),
    signal,
  );
  for (const name of SHOP_CLUSTERS) await mustBeThere(stage, name, LIVE_WEB);
  await writeFile(web, good);
  await stage.work.push('Mend the typo');
  await untilSummary(stage, (text) => text === 'applied by 3 of 3 clusters', signal);
  return `${found.at?.path}:${found.at?.line}:${found.at?.column}: ${found.message}`;
}

async function planBranch(stage: Stage): Promise<string> {
  const { work } = stage;
  await work.git('checkout', '--quiet', '-b', CLOSING);
  await work.git('rm', '--quiet', '-r', join('apps', 'shop'));
  await work.git('commit', '--quiet', '-m', 'Close the shop');
  await work.git('push', '--quiet', 'origin', CLOSING);
  await work.git('checkout', '--quiet', '-');
  const plan = await planOf(stage);
  if (plan.summary.hold === 0 || plan.summary.remove > 0)
    throw new Error(`the plan is ${JSON.stringify(plan.summary)}`);
  const held = plan.clusters.flatMap(({ changes }) => changes).find(({ reason }) => reason === 'TooManyRemovals');
  return `${plan.summary.hold} objects would be held in ${plan.summary.clusters} clusters: ${held?.message}`;
}

async function planOf(stage: Stage): Promise<PlanView> {
  return JSON.parse(await stage.fleetrelay('plan', CLOSING, '-o', 'json')) as PlanView;
}

async function guard(stage: Stage, signal: AbortSignal): Promise<string> {
  const planned = await planOf(stage);
  await stage.work.git('merge', '--quiet', CLOSING);
  await stage.work.git('push', '--quiet', 'origin', 'HEAD:main');
  const held = await until('the removals are held', async () => (await stage.status()).heldRemovals[0], signal);
  for (const name of SHOP_CLUSTERS) await mustBeThere(stage, name, liveSettings);
  const [objects, expected] = [held.removals.map(textOfRemoval), plannedHolds(planned)].map((all) => all.sort());
  if (JSON.stringify(objects) !== JSON.stringify(expected)) {
    throw new Error(`held are ${objects?.join(', ')}, and planned was ${expected?.join(', ')}`);
  }
  return `${held.removals.length} removals are held, as it was planned: ${held.message}`;
}

function textOfRemoval({ cluster, object }: { readonly cluster: string; readonly object: string }): string {
  return `${cluster} ${object}`;
}

/** The removals that a plan says a guard would hold. */
function plannedHolds({ clusters }: PlanView): string[] {
  return clusters.flatMap(({ cluster, changes }) =>
    changes
      .filter(({ reason }) => reason === 'TooManyRemovals')
      .map(({ object }) => textOfRemoval({ cluster, object })),
  );
}

async function whyNot(stage: Stage): Promise<string> {
  const question = ['explain', 'east', 'ConfigMap/shop/settings', '--why-not', '-o', 'json'];
  const { reasons } = JSON.parse(await stage.fleetrelay(...question)) as WhyNotView;
  const held = reasons.find(({ reason }) => reason === 'TooManyRemovals');
  if (held === undefined) throw new Error(`the answer names no guard: ${JSON.stringify(reasons)}`);
  return `${held.message}; ${held.todo}`;
}

async function history(stage: Stage): Promise<string> {
  const deltas = JSON.parse(await stage.fleetrelay('history', 'west', '-o', 'json')) as readonly DeltaView[];
  const commit = await stage.work.git('rev-parse', 'HEAD');
  const [last] = deltas;
  const isApproved = last?.reasons.includes('approval') === true;
  if (last?.revisions[0]?.revision !== commit || !isApproved)
    throw new Error(`the last delta is ${JSON.stringify(last)}`);
  return `${deltas.length} deltas for west; the last one removed ${last.objects.length} objects from ${commit.slice(0, 12)}, approved`;
}

async function approve(stage: Stage, signal: AbortSignal): Promise<string> {
  const held = (await stage.status()).heldRemovals[0];
  if (held === undefined) throw new Error('nothing is held');
  await stage.fleetrelay('approve', held.digest);
  for (const name of SHOP_CLUSTERS) {
    await until(
      `the shop is removed from ${name}`,
      async () => (await stage.cluster(name).read(liveSettings)) === undefined || undefined,
      signal,
    );
  }
  await untilSummary(stage, (text) => text === 'applied by 3 of 3 clusters', signal);
  return `approved ${held.digest.slice(0, 12)}: ${held.removals.length} objects are removed, and no others`;
}

async function explain(stage: Stage): Promise<string> {
  const answer = JSON.parse(await stage.fleetrelay('explain', 'edge', 'ConfigMap/info/contacts', '-o', 'json')) as {
    readonly because: readonly { readonly kind: string; readonly at: string }[];
  };
  const manifest = answer.because.find(({ kind }) => kind === 'manifest');
  const placement = answer.because.find(({ kind }) => kind === 'Placement');
  if (manifest === undefined || !/^apps\/info\/info\.yaml:\d+:\d+@[0-9a-f]+$/.test(manifest.at)) {
    throw new Error(`the explanation names no line: ${JSON.stringify(answer)}`);
  }
  if (placement === undefined) throw new Error('the explanation names no Placement');
  return `ConfigMap/info/contacts in edge: ${manifest.at}, through Placement at ${placement.at}`;
}

async function status(stage: Stage, signal: AbortSignal): Promise<string> {
  const branch = 'fleetrelay/status/demo';
  const commit = await stage.work.git('rev-parse', 'HEAD');
  const file = `revisions/main/${commit}.yaml`;
  const readSummary = async (): Promise<string | undefined> => {
    await stage.work.git('fetch', '--quiet', 'origin', `+${branch}:refs/remotes/origin/${branch}`);
    const revision = load(await stage.work.git('show', `origin/${branch}:${file}`)) as { readonly summary?: string };
    return revision.summary === 'applied by 3 of 3 clusters' ? revision.summary : undefined;
  };
  // Before the first status commits, git fails.
  const look = (): Promise<string | undefined> => readSummary().catch(() => undefined);
  const summary = await until(`the status branch reports ${commit.slice(0, 12)} as applied`, look, signal);
  const commits = await stage.work.git('rev-list', '--count', `origin/${branch}`);
  return `${file} on ${branch}: ${summary}; ${commits} status commits`;
}

async function editSettings(stage: Stage, text: string): Promise<void> {
  const path = join(stage.work.directory, SETTINGS);
  await writeFile(path, (await readFile(path, 'utf8')).replace(/greeting: .*/, `greeting: ${text}`));
}

async function mustBeThere(stage: Stage, cluster: string, object: DemoObject): Promise<void> {
  const found = await stage.cluster(cluster).read(object);
  if (found === undefined) throw new Error(`${object.kind}/${object.namespace}/${object.name} is not in ${cluster}`);
}

async function greeting(stage: Stage, cluster: string): Promise<string | undefined> {
  const data = (await stage.cluster(cluster).read(liveSettings))?.data;
  const text = isJsonObject(data) ? data.greeting : undefined;
  return typeof text === 'string' ? text : undefined;
}

function untilGreeting(stage: Stage, cluster: string, text: string, signal: AbortSignal): Promise<true> {
  const what = `${cluster} greets with "${text}"`;
  return until(what, async () => ((await greeting(stage, cluster)) === text ? true : undefined), signal);
}

async function untilSummary(stage: Stage, fits: (text: string) => boolean, signal: AbortSignal): Promise<string> {
  let last = '';
  const look = async (): Promise<string | undefined> => {
    last = (await stage.status()).summary;
    return fits(last) ? last : undefined;
  };
  return until('the summary is as expected', look, signal).catch((error: unknown) => {
    throw new Error(`${errorText(error)} (it is: ${last})`);
  });
}

const LOOK_EVERY_MS = 50;
const DEADLINE_MS = 30_000;

/** Calls `look` until it returns a value, and returns the value. Rejects after the deadline, and when the signal aborts. */
async function until<Value>(what: string, look: () => Promise<Value | undefined>, signal: AbortSignal): Promise<Value> {
  const end = performance.now() + DEADLINE_MS;
  while (performance.now() < end) {
    signal.throwIfAborted();
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
  throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
}
