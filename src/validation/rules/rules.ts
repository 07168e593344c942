import type { ObjectCheck } from '../object-check.ts';

/**
 * What the API server checks of built-in kinds beyond their schema, by `group/Kind` (`/Pod`, `apps/Deployment`), for all
 * versions of the kind.
 */
export const rules: Readonly<Record<string, ObjectCheck>> = {};
