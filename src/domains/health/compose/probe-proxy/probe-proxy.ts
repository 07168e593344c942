import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSystemClock } from '../../../../adapters/system/clock.ts';
import { createLineLog } from '../../../../adapters/system/line-log.ts';
import { aborted } from '../../../../compose/aborted.ts';
import type { LogLevel, RunIo, StopSignals } from '../../../../compose/options.ts';
import { errorText } from '../../../../model/text/messages.ts';
import { createProber } from '../../adapters/probes/prober.ts';
import { listenForProbes, proxyRequests, virtualRequests } from '../../adapters/probes/proxy-server.ts';
import { createProbeList, type ListedProbe, parseProbeList } from '../../probes/probe-list.ts';
import { createProbeMetrics } from '../../probes/probe-metrics.ts';

/** Options of `fleetrelay probe-proxy`. */
export interface ProbeProxyOptions {
  /** Port of the Application Probe Proxy; absent: it is not served. */
  readonly port?: number | undefined;
  /** Port of the listed Virtual Probes; absent: they are not served. */
  readonly virtualProbesPort?: number | undefined;
  readonly podIp: string;
  readonly sourceAddress?: string | undefined;
  /** File with the list of the probes that are passed on; absent: all are. */
  readonly probes?: string | undefined;
  readonly logLevel: LogLevel;
}

/** How long probes are answered after the first signal. */
const DRAIN_MS = 5_000;

/**
 * Serves the probes of a Pod until the first signal, and 5 seconds longer or until the second one. Resolves with the exit code;
 * rejects with a text for a person.
 */
export async function runProbeProxy(
  options: ProbeProxyOptions,
  { first, second }: StopSignals,
  { cwd, version }: Pick<RunIo, 'cwd' | 'version'>,
): Promise<number> {
  const { port, virtualProbesPort, podIp: address, sourceAddress } = options;
  const log = createLineLog(options.logLevel);
  const probes = options.probes === undefined ? undefined : await readList(resolve(cwd, options.probes));
  const list = probes && createProbeList(probes);
  const prober = createProber({ address, sourceAddress }, version);
  const deps = { prober, metrics: createProbeMetrics(), log, userAgent: `kuma-probe/${version}` };
  const offered = [
    { port, requests: proxyRequests(deps, list, () => first.aborted) },
    ...(list === undefined ? [] : [{ port: virtualProbesPort, requests: virtualRequests(deps, list) }]),
  ];
  // After a failure the listeners that were started are closed.
  await using listeners = new AsyncDisposableStack();
  const ports: number[] = [];
  for (const { port: at, requests } of offered) {
    if (at === undefined) continue;
    const listener = await listen(at, requests);
    listeners.defer(() => listener.stop());
    ports.push(listener.port);
  }
  log.info('the probe proxy is up', {
    ports,
    podIp: address,
    probes: probes?.length ?? 'all',
  });
  await aborted(first);
  log.info('the probe proxy is stopping');
  await createSystemClock().sleep(DRAIN_MS, second);
  return 0;
}

async function readList(file: string): Promise<readonly ListedProbe[]> {
  const list = parseProbeList(await textOf(file));
  if (!list.ok) throw new Error(`cannot read the list of probes ${file}: ${list.problem}`);
  return list.value;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(`cannot read the list of probes: ${errorText(error)}`);
  }
}

function listen(port: number, requests: Parameters<typeof listenForProbes>[1]) {
  return listenForProbes(port, requests).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? 'another process listens there' : cause.message;
    throw new Error(`cannot listen on port ${port}: ${why}`, { cause });
  });
}
