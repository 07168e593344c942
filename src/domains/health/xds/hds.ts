import { equals, toBinary } from '@bufbuild/protobuf';
import {
  type HealthCheckRequestOrEndpointHealthResponse,
  HealthCheckRequestOrEndpointHealthResponseSchema,
  type HealthCheckSpecifier,
  HealthCheckSpecifierSchema,
} from '../../../../generated/envoy/service/health/v3/hds_pb.ts';
import type { IncomingCall, StreamEnd } from '../../../ports/transport.ts';
import type { Protocol, Session, StreamDeps } from '../../../xds/stream.ts';
import type { DeclaredDataplane } from '../model/dataplane.ts';
import type { DataplaneReports } from '../runtime/reports.ts';
import type { HdsSettings } from './hds-settings.ts';
import { reportAfter } from './reports.ts';
import { specifierOf } from './specifier.ts';

/** What the streams of HDS need. */
interface HdsDeps extends Pick<StreamDeps, 'counts' | 'clock'> {
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

/** Envoys are told what to check, and report what they have found. */
export function createHds(deps: HdsDeps) {
  const specifiers = new Map<string, Set<() => void>>();
  const protocol: Protocol<typeof HealthCheckRequestOrEndpointHealthResponseSchema> = {
    schema: HealthCheckRequestOrEndpointHealthResponseSchema,
    nodeOf: ({ requestType }) =>
      requestType.case === 'healthCheckRequest' ? (requestType.value.node?.id ?? '') : undefined,
    open: (dataplane, call) => openSession(deps, specifiers, dataplane, call),
  };
  return {
    protocol,
    /** The declaration of the data plane may have changed: its Envoy is told at once. */
    changed: (dataplane: string): void => {
      for (const push of specifiers.get(dataplane) ?? []) push();
    },
  };
}

function openSession(
  deps: HdsDeps,
  specifiers: Map<string, Set<() => void>>,
  dataplane: string,
  call: IncomingCall,
): Session<HealthCheckRequestOrEndpointHealthResponse> {
  const { counts, clock, settings, reports } = deps;
  const began = reports.began(dataplane);
  const closed = settings.enabled ? deps.opened(dataplane) : () => undefined;
  counts.hdsOpened();
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
      counts.report(reports.reported(dataplane, began, after));
      return undefined;
    },
    ended: (why) => {
      those.delete(push);
      if (those.size === 0 && specifiers.get(dataplane) === those) specifiers.delete(dataplane);
      counts.hdsEnded();
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
