import type { AgentPart } from '../../../agent/agent-part.ts';
import { within } from '../../../agent/within.ts';
import type { KindState } from '../../../model/agent/agent.ts';
import {
  type AgentReport,
  type AgentReports,
  type MadeReport,
  madeReport,
  reportsOf,
} from '../../../model/agent/agent-report.ts';
import type { AgentSettings } from '../../../model/agent/agent-settings.ts';
import { canonicalJson, type JsonObject, type JsonValue, objectOf } from '../../../model/text/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Random } from '../../../ports/random.ts';
import { API_SERVER_PROBE, CERTIFICATE_REPORT, LEASE_REPORT, TUNNEL_PROBE } from '../model/reports.ts';
import type { CareApi } from '../ports/care-api.ts';
import { isSameFailure, probeApiServer } from './api-server-probe.ts';
import { type LeaseWork, leaseWorkOf, madeLeaseReport } from './lease-report.ts';
import { type Repeated, repeat } from './repeat.ts';

export interface CareDeps {
  /** What can be asked of the cluster. */
  readonly care: CareApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** One report that is made again and again. */
interface Task {
  readonly report: AgentReport;
  /** A change of it starts the task anew. */
  readonly settings: JsonValue;
  /** The longest time between two runs, in milliseconds. */
  readonly periodMs: number;
  /** Resolves with the milliseconds until the next run, if that is not the period. */
  readonly run: (deps: CareDeps, put: Put, before: MadeReport | undefined) => Promise<number | undefined>;
}

/** Takes the status of a report and what differs in the state of its kind; undefined: there is nothing to report. */
type Put = (status: JsonObject | undefined, kind?: Partial<Pick<KindState, 'state' | 'message' | 'unlisted'>>) => void;

/** The agents of a fleet receive new settings at the same moment: their first requests are spread over this time. */
const SPREAD_MS = 5_000;
const FAILING_MS = 5_000;
const LEASES_MS = 15_000;
const CERTIFICATES_MS = 60_000;
const TUNNEL_TIMEOUT_MS = 10_000;
/** Time after which Leases that cannot be listed are unknown. */
const UNKNOWN_AFTER_MS = 60_000;

/** Makes the reports that the settings ask for. `changed` receives all of them when one has changed. */
export function createCare(
  deps: CareDeps,
  changed: (reports: AgentReports) => void,
): AgentPart & Required<Pick<AgentPart, 'configure' | 'settled' | 'lastLook'>> {
  const made = new Map<AgentReport, MadeReport>();
  const running = new Map<AgentReport, { readonly text: string; readonly work: Repeated }>();
  const endWatch = deps.care.watch((what) => {
    if (what === 'leases') running.get(LEASE_REPORT)?.work.within(0);
    else if (isGood(made.get(API_SERVER_PROBE))) running.get(API_SERVER_PROBE)?.work.within(0);
  });

  return {
    /**
     * Starts, changes and ends the tasks. A report goes when nothing asks for it any more.
     *
     * @param spreadMs milliseconds within which new tasks begin
     */
    configure(settings: AgentSettings, spreadMs = SPREAD_MS): void {
      const tasks = new Map(tasksOf(settings, deps.care).map((task) => [task.report, task]));
      let isGone = false;
      for (const [report, { work }] of [...running]) {
        if (tasks.has(report)) continue;
        work.stop();
        running.delete(report);
        isGone = made.delete(report) || isGone;
      }
      for (const task of tasks.values()) start(task, spreadMs);
      if (isGone) publish();
    },
    /** Resolves when each task has run once more, or after `withinMs`. */
    settled: (withinMs: number): Promise<void> =>
      within(deps.clock, withinMs, Promise.all([...running.values()].map(({ work }) => work.next()))),
    /** Asks the API server once more, unless it is known to fail. Resolves with whether that has changed the report. */
    async lastLook(withinMs: number): Promise<boolean> {
      const before = made.get(API_SERVER_PROBE);
      const probe = running.get(API_SERVER_PROBE);
      if (probe === undefined || !isGood(before)) return false;
      probe.work.within(0);
      await within(deps.clock, withinMs, probe.work.next());
      return !isGood(made.get(API_SERVER_PROBE));
    },
    stop(): void {
      endWatch();
      for (const { work } of running.values()) work.stop();
      running.clear();
    },
  };

  function start(task: Task, spreadMs: number): void {
    const { report, settings, periodMs, run } = task;
    const text = canonicalJson(settings);
    const before = running.get(report);
    if (before?.text === text) return;
    before?.work.stop();
    const work = repeat(deps, deps.random.next() * spreadMs, async () => {
      const next = await run(deps, (status, kind) => put(report, work, status, kind), made.get(report));
      return next ?? periodMs * (0.8 + deps.random.next() / 5);
    });
    running.set(report, { text, work });
  }

  function put(report: AgentReport, by: Repeated, ...[status, kind]: Parameters<Put>): void {
    if (running.get(report)?.work !== by) return;
    const before = made.get(report);
    const next = madeReport(report, status, kind);
    made.set(report, next);
    const isSame = before?.object?.digest === next.object?.digest && sameKind(before?.kind, next.kind);
    if (!isSame) publish();
  }

  function publish(): void {
    changed(reportsOf(made.values()));
  }
}

/** Whether the last probe found nothing: only then does a hint say something new. */
function isGood(probe: MadeReport | undefined): boolean {
  return probe?.object !== undefined && Object.keys(objectOf(probe.object.value.status)).join() === 'code';
}

function sameKind(a: KindState | undefined, b: KindState): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

function tasksOf({ care: tasks, discovery }: AgentSettings, care: CareApi): readonly Task[] {
  if (tasks === undefined) return [];
  const { apiServerProbe, leases, certificates, tunnel } = tasks;
  const work = leaseWorkOf(leases, discovery);
  const syncMs = apiServerProbe?.syncPeriodMillis ?? 60_000;
  return [
    ...(apiServerProbe === undefined || care.askHealth === undefined
      ? []
      : [probeTask(care.askHealth, syncMs, apiServerProbe.readyz)]),
    ...(leases.length === 0 ? [] : [leaseTask(care, work)]),
    ...(certificates ? [certificateTask(care)] : []),
    ...(tunnel && care.tunnel !== undefined ? [tunnelTask(care.tunnel, syncMs)] : []),
  ];
}

function probeTask(ask: NonNullable<CareApi['askHealth']>, periodMs: number, readyz: boolean): Task {
  return {
    report: API_SERVER_PROBE,
    settings: { periodMs, readyz },
    periodMs,
    run: async ({ clock }, put, before) => {
      const began = clock.monotonic();
      const { status, isGood } = await probeApiServer(ask, clock, readyz);
      const last = before?.object?.value.status as JsonObject | undefined;
      // A failure that goes on does not travel again, although each answer takes its own time.
      put(last !== undefined && isSameFailure(last, status) ? last : status);
      return isGood ? undefined : Math.max(0, began + Math.min(FAILING_MS, periodMs) - clock.monotonic());
    },
  };
}

function leaseTask(care: CareApi, work: LeaseWork): Task {
  let unansweredSince: number | undefined;
  return {
    report: LEASE_REPORT,
    settings: work as unknown as JsonValue,
    periodMs: LEASES_MS,
    run: async ({ clock }, put, before) => {
      const found = await care.leases(work.namespaces);
      if (found.unanswered === undefined) {
        unansweredSince = undefined;
        put(...madeLeaseReport(work, found, clock.now()));
        return undefined;
      }
      unansweredSince ??= clock.monotonic();
      const isUnknown = clock.monotonic() - unansweredSince >= UNKNOWN_AFTER_MS;
      const last = before?.object?.value.status as JsonObject | undefined;
      if (isUnknown) put(last, { state: 'unknown', message: found.unanswered });
      return undefined;
    },
  };
}

function certificateTask(care: CareApi): Task {
  return {
    report: CERTIFICATE_REPORT,
    settings: true,
    periodMs: CERTIFICATES_MS,
    run: async (_deps, put) => {
      const status = await care.certificates();
      if (status !== undefined) put(status);
      return undefined;
    },
  };
}

function tunnelTask(test: NonNullable<CareApi['tunnel']>, periodMs: number): Task {
  return {
    report: TUNNEL_PROBE,
    settings: { periodMs },
    periodMs,
    run: async (_deps, put) => {
      const found = await test(TUNNEL_TIMEOUT_MS);
      const { type } = found;
      switch (type) {
        case 'unanswered':
          break;
        case 'none':
          put(undefined);
          break;
        case 'connected':
          put({ pod: found.pod, connected: true });
          break;
        case 'failed':
          put({ pod: found.pod, connected: false, error: found.error });
          break;
      }
      return undefined;
    },
  };
}
