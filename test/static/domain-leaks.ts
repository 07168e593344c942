/** Files of the core that still import a domain. The list only gets shorter. */
export const LEAKS: readonly string[] = [];
