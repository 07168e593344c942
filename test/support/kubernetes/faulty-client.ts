import type { KubeClient, KubeRequest } from '../../../src/adapters/kubernetes/api/types.ts';

/**
 * `lost`: it is done, and the answer is lost. `dropped`: it never arrives. `crash`, `crashAfter`: the process ends before
 * or after it and sends no further request.
 */
export type Fault = 'none' | 'lost' | 'dropped' | 'crash' | 'crashAfter';

/** What the client of a process that has crashed says. */
export class Crashed extends Error {}

/** A client that notes what is asked and fails as told. */
export interface FaultyClient extends KubeClient {
  readonly requests: KubeRequest[];
  /** Decides about each request; the first one is 0. */
  fail(plan: (request: KubeRequest, number: number) => Fault): void;
  crashed(): boolean;
}

export function createFaultyClient(inner: KubeClient): FaultyClient {
  const requests: KubeRequest[] = [];
  let plan: (request: KubeRequest, number: number) => Fault = () => 'none';
  let asked = 0;
  let crashed = false;
  return {
    server: inner.server,
    requests,
    fail: (next) => {
      plan = next;
      asked = 0;
    },
    crashed: () => crashed,
    request: async (request) => {
      if (crashed) throw new Crashed('the process is gone');
      const fault = plan(request, asked);
      asked += 1;
      crashed ||= fault === 'crash' || fault === 'crashAfter';
      if (fault === 'crash') throw new Crashed('the process ends before this request');
      requests.push(request);
      if (fault === 'dropped') return { type: 'unreachable', message: 'dropped' };
      const answer = await inner.request(request);
      if (fault === 'crashAfter') throw new Crashed('the process ends after this request');
      return fault === 'lost' ? { type: 'unreachable', message: 'the answer was lost' } : answer;
    },
    watch: (request, event) => inner.watch(request, event),
    close: () => inner.close(),
  };
}
