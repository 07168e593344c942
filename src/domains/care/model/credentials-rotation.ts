import { parseGoDuration } from '../../../model/text/go-duration.ts';
import { isJsonObject, type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import { given } from '../../../model/values/given.ts';
import { type Cron, parseCron } from './cron.ts';

/** When the key that encrypts the etcd of a Shoot is to be rotated by itself. */
export interface CredentialsRotation {
  readonly periodMillis: number;
  /** The age of the key counts from it until it was rotated first, in milliseconds since 1970; absent: not known. */
  readonly createdAt?: number;
  /** Begin and end of the daily maintenance in UTC, in milliseconds from midnight; absent: there is none, or it cannot be read. */
  readonly window?: { readonly begin: number; readonly end: number };
  /** The text of a schedule with its zone. */
  readonly schedules: readonly HibernationSchedule[];
}

/** `start`: when the cluster falls asleep; `end`: when it wakes up. Each may be empty. */
interface HibernationSchedule {
  readonly start: string;
  readonly end: string;
  readonly location: string;
}

/** Gardener's default of `rotationPeriod`: a week. */
const DEFAULT_PERIOD = 7 * 24 * 3_600_000;

/** Reads a Shoot; undefined: its key is not rotated by itself. */
export function credentialsRotationOf({ metadata, spec }: JsonObject): CredentialsRotation | undefined {
  const { maintenance, hibernation } = objectOf(spec);
  const { autoRotation, timeWindow } = objectOf(maintenance);
  const { etcdEncryptionKey } = objectOf(objectOf(autoRotation).credentials);
  if (!isJsonObject(etcdEncryptionKey)) return undefined;
  const { rotationPeriod } = etcdEncryptionKey;
  const period = rotationPeriod === undefined ? undefined : parseGoDuration(textOf(rotationPeriod));
  const periodMillis = period === undefined ? DEFAULT_PERIOD : period.ok ? period.value : 0;
  if (periodMillis === 0) return undefined;
  const createdAt = parseRfc3339(textOf(objectOf(metadata).creationTimestamp));
  const { begin, end } = objectOf(timeWindow);
  const window = [begin, end].map((time) => maintenanceTime(textOf(time)));
  return {
    periodMillis,
    ...given({ createdAt }),
    ...(window[0] === undefined || window[1] === undefined ? {} : { window: { begin: window[0], end: window[1] } }),
    schedules: objectsOf(objectOf(hibernation).schedules).map((schedule) => ({
      start: textOf(schedule.start),
      end: textOf(schedule.end),
      location: textOf(schedule.location),
    })),
  };
}

const DAY = 24 * 3_600_000;

/** A time of day like `220000+0100` in UTC, in milliseconds from midnight. */
function maintenanceTime(text: string): number | undefined {
  const found = /^([01]\d|2[0-3])([0-5]\d)([0-5]\d)([+-])([01]\d|2[0-4])([0-5]\d)$/.exec(text);
  if (found === null) return undefined;
  const [hours = 0, minutes = 0, seconds = 0, , zoneHours = 0, zoneMinutes = 0] = found.slice(1).map(Number);
  const ahead = (zoneHours * 60 + zoneMinutes) * (found[4] === '+' ? 1 : -1);
  const time = (((hours * 60 + minutes - ahead) * 60 + seconds) * 1000) % DAY;
  return time < 0 ? time + DAY : time;
}

/** What holds from a moment on. */
export interface RotationOutlook {
  /** The Shoot may sleep in its next maintenance, so that its key cannot be rotated by itself. */
  readonly isPrevented: boolean;
  /** When that may change, in milliseconds since 1970; undefined: time alone changes nothing. */
  readonly until?: number;
}

/**
 * Whether a Shoot may sleep in its next maintenance. Only the very next times of falling asleep and waking up count. Schedules
 * that cannot be read prevent nothing. Source: Gardener's IsShootHibernatedDuringNextMaintenanceWindow.
 *
 * @param now milliseconds since 1970
 */
export function rotationOutlook(
  { window, schedules }: Pick<CredentialsRotation, 'window' | 'schedules'>,
  isHibernated: boolean,
  now: number,
): RotationOutlook {
  if (window === undefined) return { isPrevented: false };
  const events = nextEvents(schedules, now);
  if (events === undefined) return { isPrevented: false };
  const today = Math.floor(now / DAY) * DAY;
  const begin = today + window.begin + (today + window.begin > now ? 0 : DAY);
  const firstEnd = today + window.end + (window.end > window.begin ? 0 : DAY);
  const end = firstEnd + (firstEnd > begin ? 0 : DAY);
  const { sleeps, wakes } = events;
  const isPrevented = isHibernated
    ? wakes === undefined || wakes > begin || (sleeps !== undefined && sleeps > wakes && sleeps < end)
    : sleeps !== undefined && sleeps <= end && (wakes === undefined || wakes < sleeps || wakes > begin);
  const times = [sleeps, wakes].filter((time) => time !== undefined);
  return { isPrevented, ...(times.length === 0 ? {} : { until: Math.min(begin, ...times) }) };
}

/** The next times of falling asleep and waking up; undefined: a schedule cannot be read. */
function nextEvents(
  schedules: readonly HibernationSchedule[],
  now: number,
): { readonly sleeps: number | undefined; readonly wakes: number | undefined } | undefined {
  const [sleeping, waking]: [Cron[], Cron[]] = [[], []];
  for (const { start, end, location } of schedules) {
    for (const [text, into] of [
      [start, sleeping],
      [end, waking],
    ] as const) {
      if (text === '') continue;
      const cron = parseCron(text, location);
      if (!cron.ok) return undefined;
      into.push(cron.value);
    }
  }
  const first = (crons: readonly Cron[]): number | undefined => {
    const times = crons.flatMap((cron) => cron.next(now) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  };
  return { sleeps: first(sleeping), wakes: first(waking) };
}
