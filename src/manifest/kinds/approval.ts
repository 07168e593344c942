import { validate } from '../../../generated/removal-approval.js';
import { parseDigest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { parseRfc3339 } from '../../model/time.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, declare, identityOf } from './reading.ts';

/** Reads a `fleetrelay.dev/v1alpha1 RemovalApproval`. */
export function readApproval(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec } = checked.value;
  const problems: FieldProblem[] = [];
  const identity = identityOf('RemovalApproval', metadata);
  const digest = parseDigest(spec.digest);
  if (!digest.ok) problems.push(fieldError('BadDigest', ['spec', 'digest'], digest.problem));
  const { expires } = spec;
  const expiresAt = expires === undefined ? undefined : parseRfc3339(expires);
  if (expires !== undefined && expiresAt === undefined) {
    const message = 'it is not an RFC 3339 time with a zone, as 2026-01-31T10:42:07Z';
    problems.push(fieldError('BadTime', ['spec', 'expires'], message));
  }
  if (!digest.ok || problems.length > 0) return { identity, problems };
  const approval = {
    name: metadata.name,
    digest: digest.value,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  return { identity, problems, content: declare('RemovalApproval', metadata, approval) };
}
