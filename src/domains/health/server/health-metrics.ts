import type { DomainMetric } from '../../../server/metrics.ts';
import type { EnvoyFigures } from '../model/envoy-figures.ts';
import { type MeshFigures, meshSamples } from './mesh-metrics.ts';

/** What the metrics show of data planes and their Envoys. */
export interface HealthFigures {
  readonly envoys: EnvoyFigures;
  /** Of all meshes that have a data plane. */
  readonly meshes: readonly MeshFigures[];
}

const EDS_RESULTS = ['sent', 'accepted', 'rejected'] as const;

/** The metrics of data planes and their Envoys. */
export const HEALTH_METRICS: readonly DomainMetric<HealthFigures>[] = [
  {
    name: 'fleetrelay_dataplanes',
    type: 'gauge',
    labels: ['mesh', 'status'],
    help: 'Data planes by status: online, partially_degraded or offline; mesh _other: all but the 100 largest meshes.',
    read: ({ meshes }) => meshSamples(meshes, 'dataplanes'),
  },
  {
    name: 'fleetrelay_services',
    type: 'gauge',
    labels: ['mesh', 'status'],
    help: 'Services by status: online, partially_degraded or offline; mesh _other: all but the 100 largest meshes.',
    read: ({ meshes }) => meshSamples(meshes, 'services'),
  },
  {
    name: 'fleetrelay_hds_streams',
    type: 'gauge',
    labels: [],
    help: 'Open streams on which Envoys report health.',
    read: ({ envoys }) => envoys.hdsStreams,
  },
  {
    name: 'fleetrelay_hds_reports_total',
    type: 'counter',
    labels: ['result'],
    help: 'Reports of Envoys; changed: with news, superseded: on another stream than the newest of the data plane.',
    read: ({ envoys }) => envoys.hdsReports,
  },
  {
    name: 'fleetrelay_eds_pushes_total',
    type: 'counter',
    labels: ['result'],
    help: 'Endpoints sent to Envoys, and their answers; rejected: the Envoy keeps those that it has.',
    // An alert misses the first of a result if its sample begins with it.
    read: ({ envoys }) => new Map([...EDS_RESULTS.map((result) => [result, 0] as const), ...envoys.edsPushes]),
  },
  {
    name: 'fleetrelay_xds_refusals_total',
    type: 'counter',
    labels: ['reason'],
    help: 'Streams of Envoys that were refused, by reason.',
    read: ({ envoys }) => envoys.refusals,
  },
];
