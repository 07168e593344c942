import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createProber } from '../../adapters/probes/prober.ts';
import { listenForProbes, proxyRequests, virtualRequests } from '../../adapters/probes/proxy-server.ts';
import { createSystemClock } from '../../adapters/system/clock.ts';
import { createLineLog } from '../../adapters/system/line-log.ts';
import { errorText } from '../../model/messages.ts';
import { createProbeList, type ListedProbe, parseProbeList } from '../../probes/probe-list.ts';
import { createProbeMetrics } from '../../probes/probe-metrics.ts';
import { aborted } from '../aborted.ts';
import type { ProbeProxyOptions, RunIo, StopSignals } from '../options.ts';

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
  const probes = options.probes === undefined ? undefined : readList(resolve(cwd, options.probes));
  const list = probes && createProbeList(probes);
  const prober = createProber({ address, sourceAddress }, version);
  const deps = { prober, metrics: createProbeMetrics(), log, userAgent: `kuma-probe/${version}` };
  const listeners = [
    ...(port === undefined
      ? []
      : [
          await listen(
            port,
            proxyRequests(deps, list, () => first.aborted),
          ),
        ]),
    ...(virtualProbesPort === undefined || list === undefined
      ? []
      : [await listen(virtualProbesPort, virtualRequests(deps, list))]),
  ];
  log.info('the probe proxy is up', {
    ports: listeners.map((listener) => listener.port),
    podIp: address,
    probes: probes?.length ?? 'all',
  });
  await aborted(first);
  log.info('the probe proxy is stopping');
  await createSystemClock().sleep(DRAIN_MS, second);
  await Promise.all(listeners.map((listener) => listener.stop()));
  return 0;
}

function readList(file: string): readonly ListedProbe[] {
  const list = parseProbeList(textOf(file));
  if (!list.ok) throw new Error(`cannot read the list of probes ${file}: ${list.problem}`);
  return list.value;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
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
