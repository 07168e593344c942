import type { JsonObject } from '../../../model/text/json.ts';
import { cutText } from '../../../model/text/messages.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { HealthAnswer } from '../ports/care-api.ts';

const TIMEOUT_MS = 10_000;
/** Longest text of a body or an error in a report, in characters. */
const MOST_TEXT = 2_048;
const MOST_CHECKS = 50;
const MOST_CHECK_NAME = 200;

/** What one probe of an API server has found. */
export interface ProbeResult {
  /** The status of the ApiServerProbe. A success carries no time: it does not travel again. */
  readonly status: JsonObject;
  readonly isGood: boolean;
}

/** Asks the API server for its health once; `readyz`: for the checks of its parts too. */
export async function probeApiServer(
  ask: (path: '/healthz' | '/readyz?verbose', timeoutMs: number) => Promise<HealthAnswer>,
  clock: Clock,
  readyz: boolean,
): Promise<ProbeResult> {
  const began = clock.monotonic();
  const healthz = async (): Promise<JsonObject> => {
    const answer = await ask('/healthz', TIMEOUT_MS);
    return healthOf(answer, Math.round(clock.monotonic() - began));
  };
  const [health, parts] = await Promise.all([
    healthz(),
    readyz ? ask('/readyz?verbose', TIMEOUT_MS).then(readinessOf) : {},
  ]);
  const isGood = health.code === 200 && Object.keys(parts).length === 0;
  return { status: { ...health, ...parts }, isGood };
}

/** Whether two failures differ in nothing but the time that they took. */
export function isSameFailure(a: JsonObject, b: JsonObject): boolean {
  const { responseMillis: _a, ...first } = a;
  const { responseMillis: _b, ...second } = b;
  return JSON.stringify(first) === JSON.stringify(second);
}

function healthOf(answer: HealthAnswer, responseMillis: number): JsonObject {
  if (answer.type === 'unanswered') return { error: cutText(answer.error, MOST_TEXT), responseMillis };
  if (answer.status === 200) return { code: 200 };
  return { code: answer.status, body: textOf(answer), responseMillis };
}

/** A line of `/readyz?verbose`: `[-]etcd failed: reason withheld`. */
const FAILED_CHECK = /^\[-\](\S+) failed/gm;

function readinessOf(answer: HealthAnswer): JsonObject {
  if (answer.type === 'unanswered') return { readyzError: cutText(answer.error, MOST_TEXT) };
  if (answer.status === 200) return {};
  const names = new Set([...answer.text.matchAll(FAILED_CHECK)].map(([, name = '']) => name));
  if (names.size === 0) return { readyzError: cutText(`HTTP status ${answer.status}: ${textOf(answer)}`, MOST_TEXT) };
  const shown = [...names].slice(0, MOST_CHECKS).map((name) => name.slice(0, MOST_CHECK_NAME).toWellFormed());
  const more = names.size - shown.length;
  return { failedChecks: more === 0 ? shown : [...shown, `and ${more} more`] };
}

function textOf({ text, cut }: Extract<HealthAnswer, { type: 'answered' }>): string {
  return cutText(text.trim(), MOST_TEXT, cut);
}
