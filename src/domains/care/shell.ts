import type { DomainShell } from '../shell.ts';

/** The care of Gardener's Shoots. */
export const care: DomainShell = {
  name: 'care',
  engine: async () => (await import('./engine/care.ts')).care,
};
