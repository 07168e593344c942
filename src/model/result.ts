/** An expected outcome of a parser or check. `problem` is a sentence for a person and never holds a secret. */
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

/** Unwraps a result that the caller knows to be good; throws otherwise (a programming error, not bad input). */
export function must<Value>(result: Result<Value>): Value {
  if (!result.ok) throw new Error(result.problem);
  return result.value;
}

/** Marks a switch as exhaustive: the compiler refuses the call if a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
