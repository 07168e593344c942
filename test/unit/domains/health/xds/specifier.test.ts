import { toJson } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { HealthCheckSpecifierSchema } from '../../../../../generated/envoy/service/health/v3/hds_pb.ts';
import { dataplaneOf } from '../../../../../src/domains/health/model/dataplane.ts';
import { hdsSettings } from '../../../../../src/domains/health/xds/hds-settings.ts';
import { specifierOf } from '../../../../../src/domains/health/xds/specifier.ts';
import type { JsonObject, JsonValue } from '../../../../../src/model/text/json.ts';

/** The settings of Kuma's own tests. */
const ENV = {
  KUMA_DP_SERVER_HDS_INTERVAL: '8s',
  KUMA_DP_SERVER_HDS_CHECK_INTERVAL: '1s',
  KUMA_DP_SERVER_HDS_CHECK_NO_TRAFFIC_INTERVAL: '2s',
  KUMA_DP_SERVER_HDS_CHECK_TIMEOUT: '3s',
  KUMA_DP_SERVER_HDS_CHECK_HEALTHY_THRESHOLD: '4',
  KUMA_DP_SERVER_HDS_CHECK_UNHEALTHY_THRESHOLD: '5',
};

function specifier(inbounds: readonly JsonObject[], more: JsonObject = {}, env: Record<string, string> = ENV) {
  const spec = { networking: { address: '192.168.0.1', inbound: inbounds, ...more } };
  const dataplane = dataplaneOf(spec, { mesh: 'default', name: 'db' });
  return toJson(HealthCheckSpecifierSchema, specifierOf({ dataplane, spec }, hdsSettings(env))) as {
    readonly clusterHealthChecks: JsonValue;
  };
}

const inbound = (more: JsonObject = {}): JsonObject => ({
  ...{ port: 9000, serviceAddress: '192.168.0.1', servicePort: 80, serviceProbe: { tcp: {} } },
  ...more,
});
const endpoint = (address: string, portValue: number) => [
  { endpoints: [{ address: { socketAddress: { address, portValue } } }] },
];
const times = {
  ...{ timeout: '3s', interval: '1s', noTrafficInterval: '2s' },
  ...{ healthyThreshold: 4, unhealthyThreshold: 5 },
};
const admin = (port = 9901) => ({
  clusterName: 'kuma:envoy:admin',
  localityEndpoints: endpoint('127.0.0.1', port),
  healthChecks: [{ ...times, httpHealthCheck: { path: '/ready' } }],
});
const workload = (address = '192.168.0.1', port = 80, check = {}) => ({
  clusterName: `localhost:${port}`,
  localityEndpoints: endpoint(address, port),
  healthChecks: [{ ...times, tcpHealthCheck: {}, ...check }],
});

describe('what an Envoy is to check', () => {
  test('is its own readiness, and each application with a probe', () => {
    expect(specifier([inbound(), { port: 9001 }])).toEqual({
      interval: '8s',
      clusterHealthChecks: [admin(), workload()],
    });
  });

  test.each([
    ['192.168.0.1', '127.0.0.6'],
    ['::2', '::6'],
    ['127.0.0.1', undefined],
    ['::1', undefined],
  ])('behind a transparent proxy comes from another address for %s', (serviceAddress, source) => {
    const transparentProxying = { redirectPortInbound: 12345 };
    const bind =
      source === undefined ? {} : { upstreamBindConfig: { sourceAddress: { address: source, portValue: 0 } } };
    expect(specifier([inbound({ serviceAddress })], { transparentProxying })).toEqual({
      interval: '8s',
      clusterHealthChecks: [admin(), { ...workload(serviceAddress), ...bind }],
    });
  });

  test('has the values of the probe, each for itself, and the port of the admin interface', () => {
    const probe = (serviceProbe: JsonObject) =>
      specifier([inbound({ serviceProbe })], { admin: { port: 1234 } }).clusterHealthChecks;
    expect(probe({ interval: '1m', tcp: {} })).toEqual([admin(1234), workload('192.168.0.1', 80, { interval: '60s' })]);
    expect(probe({ timeout: '500ms' })).toEqual([admin(1234), workload('192.168.0.1', 80, { timeout: '0.500s' })]);
    const thresholds = { healthyThreshold: 7, unhealthyThreshold: 8 };
    expect(probe(thresholds)).toEqual([admin(1234), workload('192.168.0.1', 80, thresholds)]);
  });

  test('names an application once, and none with a host name', () => {
    const inbounds = [
      inbound(),
      inbound({ port: 9001 }),
      inbound({ serviceAddress: undefined, address: 'db.example' }),
    ];
    expect(specifier(inbounds).clusterHealthChecks).toEqual([admin(), workload()]);
  });

  test('by default is reported every 5 s and checked every second', () => {
    expect(specifier([inbound()], {}, {})).toMatchObject({
      interval: '5s',
      clusterHealthChecks: [
        {},
        {
          healthChecks: [
            {
              ...{ timeout: '2s', interval: '1s', noTrafficInterval: '1s' },
              ...{ healthyThreshold: 1, unhealthyThreshold: 1 },
            },
          ],
        },
      ],
    });
  });
});

describe('settings of HDS', () => {
  test.each([
    ['INTERVAL', '0s', 'a duration above 0'],
    ['INTERVAL', '-1s', 'a duration above 0'],
    ['CHECK_TIMEOUT', '5', 'a duration above 0'],
    ['CHECK_HEALTHY_THRESHOLD', '0', 'a whole number'],
    ['ENABLED', 'maybe', 'true or false'],
  ])('refuse KUMA_DP_SERVER_HDS_%s=%s', (name, value, form) => {
    expect(() => hdsSettings({ [`KUMA_DP_SERVER_HDS_${name}`]: value })).toThrow(
      `KUMA_DP_SERVER_HDS_${name} must be ${form}`,
    );
  });

  test('can switch HDS off', () => {
    expect(hdsSettings({ KUMA_DP_SERVER_HDS_ENABLED: 'false' }).enabled).toBe(false);
    expect(hdsSettings({ KUMA_DP_SERVER_HDS_ENABLED: '' }).enabled).toBe(true);
  });
});
