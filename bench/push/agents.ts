/** A process that runs many agents with directory clusters, and says when all of them hold a text. */
import { readFileSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createPinoLog } from '../../src/adapters/system/pino-log.ts';
import { type RunningAgent, startAgent } from '../../src/compose/agent/agent.ts';
import { parseClusterName } from '../../src/model/fleet/ids.ts';
import { must } from '../../src/model/values/result.ts';
import type { ListenAddress } from '../../src/server/listen-address.ts';

/** What the process is told first. */
export interface AgentsRequest {
  readonly server: ListenAddress;
  readonly caFile: string;
  readonly clusters: readonly { readonly name: string; readonly tokenFile: string; readonly directory: string }[];
  /** The file to look at, relative to each cluster's folder. */
  readonly file: string;
}

/** What it is told after that: wait until every cluster's file holds this text. */
export interface WaitRequest {
  readonly marker: string;
}

/** What it answers: when the last cluster had it, in milliseconds since 1970 with fractions. */
export interface WaitAnswer {
  readonly marker: string;
  readonly at: number;
}

const running: RunningAgent[] = [];
let paths: readonly string[] = [];
let expected: { readonly marker: string; readonly missing: Set<string> } | undefined;

process.on('message', (request: AgentsRequest | WaitRequest) => {
  if ('marker' in request) expect(request.marker);
  else void start(request);
});
process.on('disconnect', () => void Promise.all(running.map((agent) => agent.stop())).then(() => process.exit(0)));

async function start({ server, caFile, clusters, file }: AgentsRequest): Promise<void> {
  const log = createPinoLog({ level: 'error' });
  for (const { name, tokenFile, directory } of clusters) {
    const path = join(directory, file);
    await mkdir(dirname(path), { recursive: true });
    watch(dirname(path), () => look(path));
    const options = { cluster: must(parseClusterName(name)), server, tokenFile, caFile, directory };
    running.push(
      await startAgent({ ...options, insecure: false, logLevel: 'error' }, { cwd: '/', version: 'bench' }, log),
    );
  }
  paths = clusters.map(({ directory }) => join(directory, file));
  process.send?.({ started: running.length });
}

function expect(marker: string): void {
  expected = { marker, missing: new Set(paths) };
  for (const path of paths) look(path);
}

function look(path: string): void {
  if (expected === undefined || !expected.missing.has(path)) return;
  try {
    if (!readFileSync(path, 'utf8').includes(`${expected.marker}.`)) return;
  } catch {
    return;
  }
  expected.missing.delete(path);
  if (expected.missing.size > 0) return;
  const answer: WaitAnswer = { marker: expected.marker, at: performance.timeOrigin + performance.now() };
  expected = undefined;
  process.send?.(answer);
}
