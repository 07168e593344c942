/** Parts that do nothing, or nothing that costs. */

/** Nothing is due: loops are settled by hand. */
export const stillClock = {
  now: () => Date.UTC(2026, 0, 1),
  monotonic: () => 0,
  sleep: () => new Promise<void>(() => undefined),
  schedule: () => ignore,
};

/** A warning is a fault of the benchmark. */
export const complainingLog = {
  debug: ignore,
  info: ignore,
  warn: complain,
  error: complain,
  child: () => complainingLog,
};

/** Does nothing. */
export function ignore(): undefined {
  return undefined;
}

function complain(message: string, data?: unknown): void {
  throw new Error(`${message}: ${JSON.stringify(data)}`);
}
