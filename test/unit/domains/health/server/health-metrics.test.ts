import { expect, test } from 'vitest';
import { HEALTH_METRICS } from '../../../../../src/domains/health/server/health-metrics.ts';

const figures = {
  envoys: {
    hdsStreams: 3,
    hdsReports: new Map([['unchanged', 40]]),
    edsPushes: new Map([['rejected', 1]]),
    refusals: new Map([['WrongToken', 6]]),
  },
  meshes: [
    {
      mesh: 'default',
      dataplanes: { online: 5, partially_degraded: 0, offline: 1 },
      services: { online: 1, partially_degraded: 3, offline: 2 },
    },
  ],
};

test('the metrics show data planes, services and the streams of Envoys', () => {
  const samples = HEALTH_METRICS.map((metric) => {
    const reading = metric.read(figures);
    return [metric.name, typeof reading === 'object' ? [...reading] : reading];
  });
  expect(Object.fromEntries(samples)).toEqual({
    fleetrelay_dataplanes: [
      ['default', 'online', 5],
      ['default', 'partially_degraded', 0],
      ['default', 'offline', 1],
    ],
    fleetrelay_services: [
      ['default', 'online', 1],
      ['default', 'partially_degraded', 3],
      ['default', 'offline', 2],
    ],
    fleetrelay_hds_streams: 3,
    fleetrelay_hds_reports_total: [['unchanged', 40]],
    fleetrelay_eds_pushes_total: [
      ['sent', 0],
      ['accepted', 0],
      ['rejected', 1],
    ],
    fleetrelay_xds_refusals_total: [['WrongToken', 6]],
  });
});

test('a counter has a name that ends in _total, and no gauge has', () => {
  for (const { name, type } of HEALTH_METRICS)
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
});
