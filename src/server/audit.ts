import { createRateLimit, type Rate } from '../model/limits/rate-limit.ts';
import type { JsonObject } from '../model/text/json.ts';
import { errorText } from '../model/text/messages.ts';
import { ok, problem, type Result } from '../model/values/result.ts';
import type { AuditEntry, AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Caller } from './people.ts';

/** A request that is noted in the audit log. */
export interface AuditedRequest {
  /** Undefined: unknown. */
  readonly caller: Caller | undefined;
  readonly from: string;
  readonly act: string;
}

/** Notes acts of people, before and after they are carried out. */
export interface Audit {
  /** Notes a request that was refused before it reached the API, at a limited rate for each caller. */
  refused(request: AuditedRequest, message: string): Promise<void>;
  /** Notes an act before it is carried out. A problem: it could not be noted. Otherwise the value notes the result. */
  asked(
    request: AuditedRequest,
    details: JsonObject,
  ): Promise<Result<(stage: AuditEntry['stage'], message: string) => Promise<void>>>;
}

/**
 * Refusals of one caller that are noted, and of all unknown ones together: they can neither fill the disk nor displace in the log what
 * was done.
 */
const REFUSALS: Rate = { burst: 30, perSecond: 1 / 60 };
const LONGEST_VALUE = 300;
const MOST_VALUES = 20;

/** `id`: makes a new id at each call. */
export function createAudit(deps: {
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly id: () => string;
}): Audit {
  const { audit, clock, log, id } = deps;
  const waitMs = createRateLimit(clock.monotonic, REFUSALS);
  /** Refusals without a note, by caller. */
  const omitted = new Map<string, number>();

  const append = async (entry: AuditEntry): Promise<Result<void>> => {
    try {
      await audit.append(entry);
      return ok(undefined);
    } catch (error) {
      log.error('the audit log cannot be written', { error: errorText(error), act: entry.act, who: entry.who });
      return problem(errorText(error));
    }
  };
  const entryOf = ({ caller, from, act }: AuditedRequest): Omit<AuditEntry, 'stage' | 'details' | 'message'> => ({
    id: id(),
    at: new Date(clock.now()).toISOString(),
    who: caller?.name ?? '',
    role: caller?.role ?? null,
    proof: caller?.proof ?? 'none',
    from,
    act: shortened(act),
  });
  return {
    refused: async (request, message) => {
      const { name, proof } = request.caller ?? { name: '', proof: 'none' };
      const caller = `${proof} ${name}`;
      const before = omitted.get(caller) ?? 0;
      if (waitMs(caller) > 0) {
        omitted.set(caller, before + 1);
        return;
      }
      omitted.delete(caller);
      const details = before === 0 ? {} : { refusedWithoutNote: String(before) };
      await append({ ...entryOf(request), stage: 'refused', details, message: shortened(message) });
    },
    asked: async (request, details) => {
      const entry = { ...entryOf(request), details: detailsOf(details) };
      const noted = await append({ ...entry, stage: 'asked', message: '' });
      if (!noted.ok) return noted;
      return ok(async (stage, message) => {
        const at = new Date(clock.now()).toISOString();
        await append({ ...entry, at, stage, message: shortened(message) });
      });
    },
  };
}

/** The fields of a request as texts, without the name of the caller; too long ones are cut. */
function detailsOf({ by: _by, ...details }: JsonObject): JsonObject {
  const entries = Object.entries(details).slice(0, MOST_VALUES);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      shortened(name),
      shortened(typeof value === 'string' ? value : JSON.stringify(value ?? null)),
    ]),
  );
}

function shortened(text: string): string {
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE)}...`;
}
