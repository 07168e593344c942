/** A function whose module is loaded at its first call. */
export function lazy<Args extends readonly unknown[], Result>(
  load: () => Promise<(...args: Args) => Result | Promise<Result>>,
): (...args: Args) => Promise<Result> {
  return async (...args) => (await load())(...args);
}
