import { equals, toBinary } from '@bufbuild/protobuf';
import {
  type HealthCheckRequestOrEndpointHealthResponse,
  HealthCheckRequestOrEndpointHealthResponseSchema,
  type HealthCheckSpecifier,
  HealthCheckSpecifierSchema,
} from '../../../../generated/envoy/service/health/v3/hds_pb.ts';
import type { IncomingCall, StreamEnd } from '../../../ports/transport.ts';
import { addTo } from '../../../xds/figures.ts';
import type { Protocol, Session, StreamDeps } from '../../../xds/stream.ts';
import type { DeclaredDataplane } from '../model/dataplane.ts';
import type { DataplaneReports } from '../runtime/reports.ts';
import type { HdsSettings } from './hds-settings.ts';
import { reportAfter } from './reports.ts';
import { specifierOf } from './specifier.ts';

/** What the streams of HDS need. */
interface HdsDeps extends Pick<StreamDeps, 'clock'> {
  readonly settings: HdsSettings;
  readonly declared: (dataplane: string) => DeclaredDataplane | undefined;
  readonly reports: DataplaneReports;
  /** A stream is open. Returns the function that says that it has ended, and why. */
  readonly opened: (dataplane: string) => (why: string) => void;
}

const DISABLED: StreamEnd = {
  code: 'refused',
  reason: 'HdsDisabled',
  message: 'health is not collected here (KUMA_DP_SERVER_HDS_ENABLED)',
};

/** Open streams, and what became of reports by constant result. */
interface HdsCounts {
  streams: number;
  readonly reports: Map<string, number>;
}

/** Envoys are told what to check, and report what they have found. */
export function createHds(deps: HdsDeps) {
  const specifiers = new Map<string, Set<() => void>>();
  const counts: HdsCounts = { streams: 0, reports: new Map() };
  const protocol: Protocol<typeof HealthCheckRequestOrEndpointHealthResponseSchema> = {
    schema: HealthCheckRequestOrEndpointHealthResponseSchema,
    nodeOf: ({ requestType }) =>
      requestType.case === 'healthCheckRequest' ? (requestType.value.node?.id ?? '') : undefined,
    open: (dataplane, call) => openSession({ ...deps, counts }, specifiers, dataplane, call),
  };
  return {
    protocol,
    counts: counts as Readonly<HdsCounts>,
    /** The declaration of the data plane may have changed: its Envoy is told at once. */
    changed: (dataplane: string): void => {
      for (const push of specifiers.get(dataplane) ?? []) push();
    },
  };
}

function openSession(
  deps: HdsDeps & { readonly counts: HdsCounts },
  specifiers: Map<string, Set<() => void>>,
  dataplane: string,
  call: IncomingCall,
): Session<HealthCheckRequestOrEndpointHealthResponse> {
  const { counts, clock, settings, reports } = deps;
  const began = reports.began(dataplane);
  const closed = settings.enabled ? deps.opened(dataplane) : () => undefined;
  counts.streams += 1;
  const push = specifierSender(deps, dataplane, call);
  const those = specifiers.get(dataplane) ?? new Set();
  specifiers.set(dataplane, those.add(push));

  return {
    received: ({ requestType }) => {
      if (!settings.enabled) return DISABLED;
      if (requestType.case !== 'endpointHealthResponse') {
        push();
        return undefined;
      }
      const declared = deps.declared(dataplane);
      // Its declaration has just ended, and so will this stream.
      if (declared === undefined) return undefined;
      const before = reports.last(dataplane);
      const after = reportAfter(requestType.value, declared.dataplane, before, clock.now());
      addTo(counts.reports, reports.reported(dataplane, began, after));
      return undefined;
    },
    ended: (why) => {
      those.delete(push);
      if (those.size === 0 && specifiers.get(dataplane) === those) specifiers.delete(dataplane);
      counts.streams -= 1;
      closed(why);
    },
  };
}

/** Returns a function that sends the specifier if it has changed. One is on its way at a time. */
function specifierSender({ declared, settings }: HdsDeps, dataplane: string, call: IncomingCall): () => void {
  let read: DeclaredDataplane | undefined;
  let sent: HealthCheckSpecifier | undefined;
  let isWriting = false;
  const push = (): void => {
    const now = declared(dataplane);
    if (now === undefined || now === read || isWriting) return;
    read = now;
    const specifier = specifierOf(now, settings);
    if (sent !== undefined && equals(HealthCheckSpecifierSchema, sent, specifier)) return;
    sent = specifier;
    isWriting = true;
    void call.write(toBinary(HealthCheckSpecifierSchema, specifier)).then((open) => {
      isWriting = false;
      if (open) push();
    });
  };
  return push;
}
