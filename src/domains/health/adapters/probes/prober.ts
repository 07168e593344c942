import { createKeyedLimit } from '../../../../model/limits/keyed-limit.ts';
import { type ProbeOutcome, unhealthy } from '../../probes/outcome.ts';
import type { ProbeTarget } from '../../probes/target.ts';
import type { Application } from './application.ts';
import { probeHttp, type RawHeaders } from './http-probe.ts';
import { probeTcp } from './tcp-probe.ts';

/** A probe of the Pod's applications. */
export interface ProbeCall {
  readonly target: ProbeTarget;
  /** Those that an HTTP application receives, without `Host`. */
  readonly headers: RawHeaders;
  readonly timeoutSeconds: number;
  /** Aborts when the answer is no longer of interest. */
  readonly signal: AbortSignal;
}

/** Asks the applications of a Pod. Never rejects. */
export type Prober = (call: ProbeCall) => Promise<ProbeOutcome>;

/** One application that hangs must not take what the probes of others need. */
const MAX_PROBES_OF_PORT = 64;

/** Creates the prober of a Pod. One probe more than 64 of one port at a time is unhealthy at once. */
export function createProber(application: Application, version: string): Prober {
  const begin = createKeyedLimit(MAX_PROBES_OF_PORT);
  return async (call) => {
    const { port } = call.target;
    const end = begin(String(port));
    if (end === undefined) return unhealthy(`${MAX_PROBES_OF_PORT} probes of port ${port} are running`);
    try {
      return await probe(application, version, call);
    } finally {
      end();
    }
  };
}

async function probe(application: Application, version: string, call: ProbeCall): Promise<ProbeOutcome> {
  const { target, headers, timeoutSeconds } = call;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  switch (target.type) {
    case 'http':
      return probeHttp(application, target, headers, signal);
    case 'tcp':
      return probeTcp(application, target, signal);
    case 'grpc': {
      // Imported here: HTTP/2 takes memory, and few Pods have such a probe.
      const { probeGrpc } = await import('./grpc-probe.ts');
      return probeGrpc(application, target, { version, timeoutSeconds, signal });
    }
  }
}
