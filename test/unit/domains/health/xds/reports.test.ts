import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { HealthStatus } from '../../../../../generated/envoy/config/core/v3/core_pb.ts';
import { EndpointHealthResponseSchema } from '../../../../../generated/envoy/service/health/v3/hds_pb.ts';
import { dataplaneOf } from '../../../../../src/domains/health/model/dataplane.ts';
import type { HealthReport } from '../../../../../src/domains/health/model/dataplane-health.ts';
import { reportAfter } from '../../../../../src/domains/health/xds/reports.ts';
import { clusterHealth } from '../../../../support/fake-envoys.ts';

const { UNKNOWN, HEALTHY, UNHEALTHY, DRAINING, TIMEOUT, DEGRADED } = HealthStatus;
const NOW = 1_767_225_600_000;
const serviceProbe = { tcp: {} };
const dataplane = dataplaneOf(
  {
    networking: {
      address: '10.0.0.4',
      inbound: [
        { port: 9000, servicePort: 80, serviceAddress: '127.0.0.1', serviceProbe },
        { port: 9001, servicePort: 81, serviceAddress: '::1', serviceProbe },
        { port: 9002, servicePort: 82, serviceAddress: '127.0.0.1' },
      ],
    },
  },
  { mesh: 'default', name: 'db' },
);

function reported(clusters: readonly ReturnType<typeof clusterHealth>[], before?: HealthReport): HealthReport {
  const response = create(EndpointHealthResponseSchema, { clusterEndpointsHealth: [...clusters] });
  return reportAfter(response, dataplane, before, NOW);
}

const admin = (status: HealthStatus) => clusterHealth('kuma:envoy:admin', status, '127.0.0.1');

describe('a report', () => {
  test.each([
    [HEALTHY, true],
    [UNKNOWN, true],
    [UNHEALTHY, false],
    [DRAINING, false],
    [TIMEOUT, false],
    [DEGRADED, false],
  ])('of status %i means healthy: %s', (status, healthy) => {
    expect(reported([admin(status), clusterHealth('localhost:80', status, '127.0.0.1')])).toEqual({
      ...{ envoyHealthy: healthy, envoySince: NOW, newsAt: NOW },
      workloads: { '127.0.0.1:80': healthy },
    });
  });

  test('without the Envoy itself means that it is healthy', () => {
    expect(reported([])).toEqual({ envoyHealthy: true, envoySince: NOW, newsAt: NOW, workloads: {} });
    expect(reported([{ clusterName: 'kuma:envoy:admin' }])).toMatchObject({ envoyHealthy: true });
  });

  test('of an application at another address, of no application, or with an unreadable name is ignored', () => {
    const names = ['localhost:', 'localhost:8a', 'localhost:99', '127.0.0.1:80', 'localhost:82', 'localhost:080', ''];
    const report = reported([
      ...names.map((name) => clusterHealth(name, UNHEALTHY, '127.0.0.1')),
      clusterHealth('localhost:80', UNHEALTHY, '127.0.0.2'),
      { clusterName: 'localhost:80' },
      { clusterName: 'localhost:80', localityEndpointsHealth: [{}] },
    ]);
    expect(report).toEqual({ envoyHealthy: true, envoySince: NOW, newsAt: NOW, workloads: {} });
  });

  test('is about the first endpoint of the first locality, whose address may be left out or be written otherwise', () => {
    const endpoints = [{ healthStatus: UNHEALTHY }, { healthStatus: HEALTHY }];
    const report = reported([
      { clusterName: 'localhost:80', localityEndpointsHealth: [{ endpointsHealth: endpoints }, {}] },
      clusterHealth('localhost:81', HEALTHY, '0:0:0:0:0:0:0:1'),
    ]);
    expect(report.workloads).toEqual({ '127.0.0.1:80': false, '::1:81': true });
  });

  test('keeps what was reported of applications that it does not name, and forgets those that are not probed', () => {
    const before: HealthReport = {
      ...{ envoyHealthy: true, envoySince: 5, newsAt: 6 },
      workloads: { '127.0.0.1:80': false, '::1:81': true, '127.0.0.1:82': false },
    };
    expect(reported([admin(HEALTHY), clusterHealth('localhost:80', HEALTHY, '127.0.0.1')], before)).toEqual({
      ...{ envoyHealthy: true, envoySince: 5, newsAt: NOW },
      workloads: { '127.0.0.1:80': true, '::1:81': true },
    });
    expect(reported([admin(UNHEALTHY)], before)).toMatchObject({ envoyHealthy: false, envoySince: NOW });
  });

  test('without news keeps the time of the last one with news', () => {
    const before: HealthReport = { envoyHealthy: true, envoySince: 5, newsAt: 6, workloads: { '127.0.0.1:80': false } };
    expect(reported([clusterHealth('localhost:80', UNHEALTHY, '127.0.0.1')], before)).toEqual(before);
  });
});
