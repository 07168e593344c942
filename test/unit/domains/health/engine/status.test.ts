import { describe, expect, it } from 'vitest';
import {
  type Connection,
  declaredCauses,
  reportedCauses,
  statusOf,
} from '../../../../../src/domains/health/engine/status.ts';
import { dataplaneOf, type InboundState } from '../../../../../src/domains/health/model/dataplane.ts';
import type { HealthReport } from '../../../../../src/domains/health/model/dataplane-health.ts';
import type { JsonObject } from '../../../../../src/model/text/json.ts';

const CONNECTED: Connection = { state: 'connected', since: 0 };
const DISCONNECTED: Connection = { state: 'disconnected', since: 0 };

const none: JsonObject = {};
const ready = { health: { ready: true } };
const notReady = { health: {} };
const inState = (state: InboundState, more: JsonObject = {}): JsonObject => ({ state, ...more });
const ingress = (state: string): JsonObject => ({ type: 'ZoneIngress', address: '10.0.0.1', port: 10001, state });

function dataplane(inbound: readonly JsonObject[], more: JsonObject = {}) {
  const numbered = inbound.map((one, at) => ({ port: 80 + at, tags: { 'kuma.io/service': `s${at}` }, ...one }));
  return dataplaneOf(
    { networking: { address: '10.0.0.1', inbound: numbered, ...more } },
    { mesh: 'default', name: 'dp' },
  );
}

function check(connection: Connection, of: ReturnType<typeof dataplane>) {
  const { status, notes } = statusOf(of, of.inbounds.map(declaredCauses), connection);
  return notes.length === 0 ? status : [status, ...notes];
}

describe('status of a data plane', () => {
  const gateway = { gateway: { tags: { 'kuma.io/service': 'edge' } } };
  const note = (port: number) => `inbound[port=${port},svc=s${port - 80}] is not ready`;
  it.each([
    ['an inbound without health', CONNECTED, dataplane([none]), 'Online'],
    ['a ready inbound', CONNECTED, dataplane([ready]), 'Online'],
    ['a connected gateway', CONNECTED, dataplane([], gateway), 'Online'],
    ['a disconnected proxy', DISCONNECTED, dataplane([ready]), 'Offline'],
    ['a proxy that never connected', { state: 'never' } as const, dataplane([ready]), 'Offline'],
    ['a proxy that drains counts as connected', { state: 'draining' } as const, dataplane([ready]), 'Online'],
    ['a disconnected gateway', DISCONNECTED, dataplane([], gateway), 'Offline'],
    ['a ready listener', CONNECTED, dataplane([], { listeners: [ingress('Ready')] }), 'Online'],
    [
      'an inbound that is not ready beside a ready listener',
      CONNECTED,
      dataplane([notReady], { listeners: [ingress('Ready')] }),
      ['Partially degraded', note(80)],
    ],
    [
      'notes of inbounds, then of listeners',
      CONNECTED,
      dataplane([ready, notReady], { listeners: [ingress('NotReady')] }),
      ['Partially degraded', note(81), 'listener[port=10001,type=ZoneIngress] is not ready'],
    ],
    ['nothing ready', CONNECTED, dataplane([notReady, inState('NotReady')]), ['Offline', note(80), note(81)]],
    ['the notes of a disconnected proxy', DISCONNECTED, dataplane([ready, notReady]), ['Offline', note(81)]],
    ['state NotReady with health.ready', CONNECTED, dataplane([inState('NotReady', ready)]), ['Offline', note(80)]],
    ['state Ready without health.ready', CONNECTED, dataplane([inState('Ready', notReady)]), ['Offline', note(80)]],
    ['an ignored inbound that is not ready', CONNECTED, dataplane([ready, inState('Ignored', notReady)]), 'Online'],
    ['only an ignored inbound, connected', CONNECTED, dataplane([inState('Ignored', notReady)]), 'Online'],
    ['only an ignored inbound, disconnected', DISCONNECTED, dataplane([inState('Ignored', notReady)]), 'Offline'],
    ['nothing at all, connected', CONNECTED, dataplane([]), 'Online'],
    ['nothing at all, disconnected', DISCONNECTED, dataplane([]), 'Offline'],
    [
      'an inbound without service',
      CONNECTED,
      dataplane([{ ...notReady, tags: {} }]),
      ['Offline', 'inbound[port=80,svc=] is not ready'],
    ],
  ])('%s', (_what, connection, of, expected) => {
    expect(check(connection, of)).toEqual(expected);
  });
});

describe('reported health of a declared inbound', () => {
  const probed = { serviceProbe: { tcp: {} } };
  const report = (workloads: HealthReport['workloads'], envoyHealthy = true): HealthReport => ({
    ...{ envoyHealthy, envoySince: 0, workloads },
  });
  const own = '10.0.0.1:80';
  it.each([
    ['nothing is reported: it goes by its declaration', none, undefined, []],
    ['nothing is reported, and it is declared out', notReady, undefined, ['declared']],
    ['nothing is reported, and Envoy probes it', probed, undefined, ['unreported']],
    ['the application is healthy', probed, report({ [own]: true }), []],
    ['the application is unhealthy', probed, report({ [own]: false }), ['unhealthy']],
    ['the report is about another address', probed, report({ '10.0.0.9:80': true }), ['unreported']],
    ['the report is about another port', probed, report({ '10.0.0.1:8080': true }), ['unreported']],
    ['an inbound at a shared port has the same health', none, report({ [own]: false }), ['unhealthy']],
    ['its application is at a host name', { ...probed, address: 'db.internal' }, report({}), ['unprobed']],
    ['Envoy drains', none, report({}, false), ['draining']],
    ['Envoy drains, and the application is healthy', probed, report({ [own]: true }, false), ['draining']],
    [
      'a healthy report does not override health.ready',
      { ...probed, ...notReady },
      report({ [own]: true }),
      ['declared'],
    ],
    ['nor state NotReady', { ...probed, ...inState('NotReady') }, report({ [own]: true }), ['declared']],
    [
      'the application is at serviceAddress and servicePort',
      { ...probed, serviceAddress: '127.0.0.1', servicePort: 90 },
      report({ '127.0.0.1:90': true }),
      [],
    ],
  ])('%s', (_what, inbound, reported, expected) => {
    const [first] = dataplane([inbound]).inbounds;
    if (first === undefined) throw new Error('no inbound was read');
    expect(reportedCauses(first, reported).map(({ type }) => type)).toEqual(expected);
  });
});
