/** What a server and an agent take when a cluster gets 1 GiB of objects at its first contact. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Fleet, startFleet, until } from '../../test/support/fleet-processes.ts';
import { installBundle } from '../../test/support/installed-bundle.ts';
import { clusterYaml } from '../../test/support/manifests.ts';
import { agentSettings, serverSettings } from '../fleet/as-shipped.ts';
import { forgetPeak, memoryOf } from '../process-figures.ts';

const OBJECTS = Number(process.env.BENCH_OBJECTS ?? 50_000);
const MEBIBYTES = Number(process.env.BENCH_MIB ?? 1_024);
/** Most bytes of a delta; absent: the default of the server. */
const DELTA_BYTES = process.env.BENCH_DELTA_BYTES;
/** The heap that Node takes by itself in a container of 512 MiB. Here it would go by the memory of the whole machine. */
const AGENT_HEAP_MIB = Number(process.env.BENCH_AGENT_HEAP_MIB ?? 256);
const PER_FILE = 100;
const REST_MS = 10_000;
const DEADLINE_MS = 3_600_000;
const GOALS = { agentPeakMiB: 400, serverPeakMiB: 256 };
/** ConfigMaps are in no input snapshot, as in a cluster with an API server, where no agent discovers them. */
const POLICY =
  'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: fleet}\nspec: {discovery: {excludedKinds: [ConfigMap]}}\n';

interface Figures {
  readonly objects: number;
  readonly mebibytes: number;
  readonly deltas: number;
  /** The most that the agent ever had. */
  readonly agentPeakMiB: number;
  readonly agentRestMiB: number;
  /** The most that the server had from the connect on, above what it had before. */
  readonly serverPeakMiB: number;
  readonly serverRestMiB: number;
  readonly appliedMillis: number;
}

/** `npm run bench -- first-contact [--json]`. Linux only: figures come from /proc. */
export async function run(args: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fleetrelay-first-contact-'));
  const installed = await installBundle();
  try {
    const source = join(folder, 'source');
    writeSource(source);
    const limits = {
      revision: { bytes: 4 * 2 ** 30, expandedBytes: 4 * 2 ** 30, documents: 1_000_000, nodes: 100_000_000 },
      ...(DELTA_BYTES === undefined ? {} : { deltaBytes: Number(DELTA_BYTES) }),
    };
    const fleet = await startFleet(
      {},
      {
        program: installed.program,
        config: { fields: { sources: [{ name: 'files', files: { path: source } }], limits } },
        serve: ['--log-level', 'info'],
        serverEnv: { ...serverSettings(), NODE_OPTIONS: '--max-semi-space-size=8 --max-old-space-size=6144' },
      },
    );
    try {
      report(await measure(fleet, folder), args);
    } finally {
      await fleet.stop();
    }
  } finally {
    await installed.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(fleet: Fleet, folder: string): Promise<Figures> {
  const server = fleet.server.pid() ?? 0;
  await until(
    'the source is read',
    async () => (await fleet.status()).sources.some(({ state }) => state === 'synced') || undefined,
    DEADLINE_MS,
  );
  await sleep(REST_MS);
  forgetPeak(server);
  const before = memoryOf(server);
  const cluster = join(folder, 'cluster');
  const applied = join(cluster, 'namespaces', 'web', 'configmap');
  const started = performance.now();
  const agent = fleet.agent('east');
  await agent.start({
    args: ['--directory', cluster],
    env: { ...agentSettings(), NODE_OPTIONS: agentOptions() },
  });
  await allApplied(fleet, { pid: () => agent.pid(), applied });
  const appliedMillis = Math.round(performance.now() - started);
  await sleep(REST_MS);
  const [ofAgent, ofServer] = [memoryOf(agent.pid() ?? 0), memoryOf(server)];
  return {
    objects: OBJECTS,
    mebibytes: MEBIBYTES,
    deltas: fleet.server.logs.filter(({ message }) => message === 'a delta is sent').length,
    agentPeakMiB: ofAgent.peakMiB,
    agentRestMiB: ofAgent.restMiB,
    serverPeakMiB: Math.round((ofServer.peakMiB - before.restMiB) * 10) / 10,
    serverRestMiB: before.restMiB,
    appliedMillis,
  };
}

/** Waits until all objects are files and reported as applied, and says on the way how many are. Ends with the agent. */
async function allApplied(fleet: Fleet, agent: { readonly pid: () => number | undefined; readonly applied: string }) {
  const end = performance.now() + DEADLINE_MS;
  let told = 0;
  while (performance.now() < end) {
    await sleep(1_000);
    if (!isRunning(agent.pid())) throw new Error('the agent ended before all objects were applied');
    const files = filesIn(agent.applied);
    if (files - told >= OBJECTS / 20) {
      told = files;
      process.stderr.write(`${files} of ${OBJECTS} objects are files\n`);
    }
    if (files < OBJECTS) continue;
    const { clusters } = await fleet.status();
    if (clusters.some(({ counts }) => counts.applied >= OBJECTS)) return;
  }
  throw new Error(`${filesIn(agent.applied)} of ${OBJECTS} objects are files after ${DEADLINE_MS / 60_000} minutes`);
}

/** Whether a process runs. One that ended and was not waited for yet does not. */
function isRunning(pid: number | undefined): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The options of Node as shipped, and the heap. */
function agentOptions(): string {
  return `${agentSettings().NODE_OPTIONS ?? ''} --max-old-space-size=${AGENT_HEAP_MIB}`;
}

/** A folder as desired state. Its contents do not repeat, so that nothing is smaller on the way than it is. */
function writeSource(folder: string): void {
  mkdirSync(join(folder, 'clusters', 'east'), { recursive: true });
  writeFileSync(join(folder, 'cluster.yaml'), clusterYaml('east'));
  writeFileSync(join(folder, 'policy.yaml'), POLICY);
  const characters = Math.floor((MEBIBYTES * 2 ** 20) / OBJECTS) - 120;
  for (let first = 0; first < OBJECTS; first += PER_FILE) {
    const documents = Array.from({ length: Math.min(PER_FILE, OBJECTS - first) }, (_, place) => {
      const text = randomBytes(characters).toString('base64').slice(0, characters);
      const metadata = `{name: object-${first + place}, namespace: web}`;
      return `apiVersion: v1\nkind: ConfigMap\nmetadata: ${metadata}\ndata:\n  text: "${text}"\n`;
    });
    writeFileSync(join(folder, 'clusters', 'east', `${first}.yaml`), documents.join('---\n'));
  }
}

function filesIn(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

function report(figures: Figures, args: readonly string[]): void {
  if (args.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ ...figures, goals: GOALS }, undefined, 2)}\n`);
    return;
  }
  const { objects, mebibytes, deltas, agentPeakMiB, agentRestMiB, serverPeakMiB, serverRestMiB, appliedMillis } =
    figures;
  process.stdout.write(
    [
      `${objects} objects, ${mebibytes} MiB, deltas: ${deltas}`,
      `agent memory at most (MiB)               ${agentPeakMiB}   goal ${GOALS.agentPeakMiB}`,
      `agent memory at rest (MiB)               ${agentRestMiB}`,
      `server memory at most, above rest (MiB)  ${serverPeakMiB}   goal ${GOALS.serverPeakMiB}`,
      `server memory at rest before (MiB)       ${serverRestMiB}`,
      `from the start of the agent (ms)         ${appliedMillis}`,
      '',
    ].join('\n'),
  );
}
