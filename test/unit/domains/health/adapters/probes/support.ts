import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { Application } from '../../../../../../src/domains/health/adapters/probes/application.ts';
import { createProber } from '../../../../../../src/domains/health/adapters/probes/prober.ts';
import {
  listenForProbes,
  proxyRequests,
  virtualRequests,
} from '../../../../../../src/domains/health/adapters/probes/proxy-server.ts';
import { createProbeList, type ListedProbe } from '../../../../../../src/domains/health/probes/probe-list.ts';
import { createProbeMetrics } from '../../../../../../src/domains/health/probes/probe-metrics.ts';
import { silentLog } from '../../../../../support/silent-log.ts';

/** A probe proxy that listens on a port of this machine. */
export interface RunningProxy {
  readonly port: number;
  /** Asks for a path, byte for byte; headers are lines. */
  probe(path: string, ...headers: readonly string[]): Promise<ProxyAnswer>;
  /** The samples of its metric that are not 0, without the name. */
  counts(): readonly string[];
}

export interface ProxyAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: string;
}

export interface ProxyOptions extends Partial<Application> {
  readonly probes?: readonly ListedProbe[];
  readonly isTerminating?: () => boolean;
  /** The listener of Virtual Probes. */
  readonly virtual?: true;
}

/** Starts a proxy that the current test stops at its end. */
export async function startProxy(options: ProxyOptions = {}): Promise<RunningProxy> {
  const { probes, isTerminating = () => false, address = '127.0.0.1', sourceAddress } = options;
  const metrics = createProbeMetrics();
  const prober = createProber({ address, sourceAddress }, '1.2.3');
  const deps = { prober, metrics, log: silentLog, userAgent: 'kuma-probe/1.2.3' };
  const list = probes && createProbeList(probes);
  const requests =
    options.virtual === true && list !== undefined
      ? virtualRequests(deps, list)
      : proxyRequests(deps, list, isTerminating);
  const listener = await listenForProbes(0, requests);
  onTestFinished(() => listener.stop());
  const { port } = listener;
  return {
    port,
    probe: (path, ...headers) => ask(port, ['GET', path], headers),
    counts: () =>
      metrics
        .text()
        .split('\n')
        .filter((line) => /[1-9]$/.test(line) && !line.startsWith('#'))
        .map((line) => line.replace('fleetrelay_probe_requests_total', '')),
  };
}

/** Sends a request over a connection of its own, and reads the answer to its end. */
export async function ask(
  port: number,
  [method, path]: readonly [string, string],
  headers: readonly string[] = [],
): Promise<ProxyAnswer> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write([`${method} ${path} HTTP/1.1`, 'Host: 10.0.0.1:9001', ...headers, '', ''].join('\r\n'), 'latin1');
  const answer = await text(socket);
  const end = answer.indexOf('\r\n\r\n');
  const body = answer.slice(end + 4);
  const isChunked = /transfer-encoding: chunked/i.test(answer.slice(0, end));
  return {
    status: Number(answer.split(' ')[1]),
    headers: answer.slice(0, end),
    body: isChunked ? (body.split('\r\n')[1] ?? '') : body,
  };
}
