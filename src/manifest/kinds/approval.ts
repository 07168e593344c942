import { validate } from '../../../generated/removal-approval.js';
import { parseDigest } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, declare, identityOf } from './reading.ts';

/** RFC 3339 with seconds and a zone; a date alone, or a time without a zone, would mean another moment elsewhere. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

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
  const expiresAt = expires === undefined || !TIME.test(expires) ? Number.NaN : Date.parse(expires);
  if (expires !== undefined && Number.isNaN(expiresAt)) {
    const message = 'it is not an RFC 3339 time with a zone, as 2026-01-31T10:42:07Z';
    problems.push(fieldError('BadTime', ['spec', 'expires'], message));
  }
  if (!digest.ok || problems.length > 0) return { identity, problems };
  const approval = {
    name: metadata.name,
    digest: digest.value,
    ...(expires === undefined ? {} : { expiresAt }),
  };
  return { identity, problems, content: declare('RemovalApproval', metadata, approval) };
}
