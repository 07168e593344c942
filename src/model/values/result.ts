/** The result of a parser or check. `problem` is a sentence for people and never contains a secret. */
export type Result<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string };

/** The successful {@link Result}. */
export function ok<Value>(value: Value): Result<Value> {
  return { ok: true, value };
}

/** The failed {@link Result}. */
export function problem(text: string): Result<never> {
  return { ok: false, problem: text };
}

/** Returns the value of a result. Throws if it failed, which is a programming error and not bad input. */
export function must<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new Error(result.problem);
  return result.value;
}

/** Marks a switch as exhaustive: the compiler reports a missing case. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
