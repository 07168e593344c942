import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import {
  DiscoveryRequestSchema,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from '../../../generated/envoy/service/discovery/v3/discovery_pb.ts';
import type { IncomingCall } from '../../../src/ports/transport.ts';
import { createAds, type Resources } from '../../../src/xds/ads.ts';
import { createXdsCounts } from '../../../src/xds/figures.ts';
import { XDS_LIMITS } from '../../../src/xds/limits.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** Resources of a type whose wire form is a text; `texts` has them by scope and name. */
function textResources(type: string, texts: ReadonlyMap<string, string>, heard: string[]): Resources {
  return {
    type,
    get: (scope, name) => {
      const version = texts.get(`${scope}/${name}`) ?? 'none';
      const resources = [{ typeUrl: type, value: Buffer.from(version) }];
      const resource = toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { resources }));
      const about = create(DiscoveryResponseSchema, { versionInfo: version, typeUrl: type, nonce: version });
      return { resource, version, response: Buffer.concat([toBinary(DiscoveryResponseSchema, about), resource]) };
    },
    isAwaited: () => false,
    forget: (scope, name) => void heard.push(`forgets ${scope}/${name}`),
    rejected: (node, message = 'nothing') => void heard.push(`${node} refuses ${message}`),
  };
}

/** A stream of `gateway-1` to a server of listeners and routes, of which the node has the scope `blue`. */
function openStream(listeners: ReadonlyMap<string, string>, routes: ReadonlyMap<string, string>) {
  const clock = createVirtualClock();
  const heard: string[] = [];
  const ads = createAds({
    ...{ clock, counts: createXdsCounts(), limits: XDS_LIMITS },
    scopeOf: (node) => (node === 'gateway-1' ? 'blue' : 'green'),
    opened: () => () => undefined,
    types: [textResources('listener', listeners, heard), textResources('route', routes, heard)],
  });
  const sent: DiscoveryResponse[] = [];
  const write = async (message: Uint8Array): Promise<boolean> => {
    sent.push(fromBinary(DiscoveryResponseSchema, message));
    return true;
  };
  const session = ads.protocol.open('gateway-1', { write } as IncomingCall);
  return {
    ads,
    heard,
    session,
    ask: (typeUrl: string, responseNonce = '', message?: string): void => {
      const refused = message === undefined ? {} : { errorDetail: { message } };
      session.received(create(DiscoveryRequestSchema, { typeUrl, resourceNames: ['in'], responseNonce, ...refused }));
    },
    received: async (): Promise<readonly string[]> => {
      await clock.advance(10);
      return sent.splice(0).map(({ typeUrl, resources: [first] }) => `${typeUrl} ${Buffer.from(first?.value ?? [])}`);
    },
  };
}

test('a stream is sent several types, by the scope of any node, each when its last response is answered', async () => {
  const listeners = new Map([
    ['blue/in', 'l1'],
    ['green/in', 'other'],
  ]);
  const routes = new Map([['blue/in', 'r1']]);
  const { ads, heard, session, ask, received } = openStream(listeners, routes);
  ask('listener');
  ask('route');
  expect(await received()).toEqual(['listener l1', 'route r1']);
  listeners.set('blue/in', 'l2');
  routes.set('blue/in', 'r2');
  for (const type of ['listener', 'route']) ads.changed(type, [{ scope: 'blue', name: 'in' }]);
  ads.changed('listener', [{ scope: 'green', name: 'in' }]);
  expect(await received()).toEqual([]);
  ask('route', 'r1', 'no such cluster');
  expect(await received()).toEqual(['route r2']);
  ask('listener', 'l1');
  expect(await received()).toEqual(['listener l2']);
  const wanted = (type: string, scope: string): boolean => ads.isWanted(type, { scope, name: 'in' });
  expect([wanted('route', 'blue'), wanted('route', 'green'), wanted('secret', 'blue')]).toEqual([true, false, false]);
  session.ended('its Envoy has ended the stream');
  expect(wanted('route', 'blue')).toBe(false);
  expect(heard).toEqual([
    'gateway-1 refuses no such cluster',
    'gateway-1 refuses nothing',
    'forgets blue/in',
    'forgets blue/in',
  ]);
});

test('a stream is sent types in the order of the server, whichever it asks for or whichever changes first', async () => {
  const listeners = new Map([['blue/in', 'l1']]);
  const routes = new Map([['blue/in', 'r1']]);
  const { ads, ask, received } = openStream(listeners, routes);
  ask('route');
  ask('listener');
  expect(await received()).toEqual(['listener l1', 'route r1']);
  ask('route', 'r1');
  ask('listener', 'l1');
  listeners.set('blue/in', 'l2');
  routes.set('blue/in', 'r2');
  for (const type of ['route', 'listener']) ads.changed(type, [{ scope: 'blue', name: 'in' }]);
  expect(await received()).toEqual(['listener l2', 'route r2']);
});
