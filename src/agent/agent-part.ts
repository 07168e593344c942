import type { AgentReports } from '../model/agent/agent-report.ts';
import type { AgentSettings } from '../model/agent/agent-settings.ts';
import type { LiveState } from '../ports/cluster-api.ts';

/**
 * Work of an agent beside the reconciliation of objects: it reads or changes what is no object of the desired state, and reports
 * what it finds. Its work begins when it is created, and ends with `stop`.
 */
export interface AgentPart {
  /**
   * Takes the settings of the fleet: before the first look at the cluster, and whenever they change.
   *
   * @param spreadMs milliseconds within which new work begins; absent: a time that spreads the agents of a fleet
   */
  readonly configure?: (settings: AgentSettings, spreadMs?: number) => void;
  /** Resolves when the part has made each report that the settings ask for, or when the time is over. */
  readonly settled?: (withinMs: number) => Promise<void>;
  /** Reports what it has kept in the cluster. The first snapshot must contain these reports: the server drops a report that a snapshot lacks. */
  readonly load?: (settings: AgentSettings) => Promise<void>;
  /** Takes a state of the cluster. The cost has to follow the changes of the state. */
  readonly observe?: (live: LiveState, settings: AgentSettings) => void;
  /** Looks once more, before an agent stops that could not renew its Lease. Resolves with whether that has changed a report. */
  readonly lastLook?: (withinMs: number) => Promise<boolean>;
  /** Ends the work after the request that is under way. */
  readonly stop: () => void | Promise<void>;
}

/** Begins a part of an agent. `report` takes all its reports, whenever one of them has changed. */
export type CreateAgentPart = (report: (reports: AgentReports) => void) => AgentPart;

/** The parts of an agent together. None is there before `begin`. */
export function createAgentParts(
  create: readonly CreateAgentPart[],
  report: (maker: string, reports: AgentReports) => void,
) {
  const parts: AgentPart[] = [];
  let stopped: Promise<unknown> | undefined;
  return {
    /** Begins with all, and starts the agent. They end if that rejects. */
    async begin(start: () => Promise<void>): Promise<void> {
      try {
        for (const [index, begin] of create.entries()) {
          parts.push(begin((reports) => report(`part ${index}`, reports)));
        }
        await start();
      } catch (error) {
        await end().catch(() => undefined);
        throw error;
      }
    },
    configure(settings: AgentSettings, spreadMs?: number): void {
      forEach((part) => part.configure?.(settings, spreadMs));
    },
    settled: (withinMs: number) => Promise.all(parts.map((part) => part.settled?.(withinMs))),
    load: (settings: AgentSettings) => Promise.all(parts.map((part) => part.load?.(settings))),
    observe(live: LiveState, settings: AgentSettings): void {
      forEach((part) => part.observe?.(live, settings));
    },
    /** Resolves with whether a report has changed. */
    async lastLook(withinMs: number): Promise<boolean> {
      const changed = await Promise.all(parts.map((part) => part.lastLook?.(withinMs)));
      return changed.includes(true);
    },
    stop: end,
  };

  /** Calls each part, also if one throws: the next state does not name these changes again. Throws the first error. */
  function forEach(call: (part: AgentPart) => void): void {
    const errors: unknown[] = [];
    for (const part of parts) {
      try {
        call(part);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /** Ends each part, also if one throws. Rejects with the first error when all have ended. */
  function end(): Promise<unknown> {
    stopped ??= Promise.allSettled(parts.map(async (part) => part.stop())).then((ends) => {
      for (const each of ends) if (each.status === 'rejected') throw each.reason;
    });
    return stopped;
  }
}

export type AgentParts = ReturnType<typeof createAgentParts>;
