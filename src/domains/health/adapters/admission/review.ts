import { displayPath } from '../../../../model/text/field-path.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  objectOf,
  textOf,
} from '../../../../model/text/json.ts';
import { given } from '../../../../model/values/given.ts';
import { ok, problem, type Result } from '../../../../model/values/result.ts';
import { isOptedOut } from '../../probes/opt-in.ts';
import { type RewriteOptions, rewritePod } from '../../probes/rewrite-pod.ts';

/** What became of a Pod. */
export type InjectionResult = 'unchanged' | 'rewritten' | 'refused' | 'failed';

/** The answer to a review. */
export interface ReviewAnswer {
  readonly result: InjectionResult;
  /** An AdmissionReview with a response. */
  readonly review: JsonObject;
  /** Why the Pod is denied. */
  readonly message?: string;
}

/** What a review depends on. */
export interface ReviewOptions extends RewriteOptions {
  /** Pods in these namespaces stay as they are. */
  readonly excluded: readonly string[];
}

const VERSION = 'admission.k8s.io/v1';
/** The API server sends a UUID. */
const MOST_UID = 128;
/** The API server shows this much of a warning. */
const MOST_WARNING = 256;

/** Answers an AdmissionReview of a Pod that is created. A problem: the text is none, so that there is no uid to answer. */
export function reviewPod(body: JsonValue | undefined, options: ReviewOptions): Result<ReviewAnswer> {
  if (!isJsonObject(body)) return problem('the body is no JSON object');
  if (body.apiVersion !== VERSION || body.kind !== 'AdmissionReview') {
    return problem(`the body is no AdmissionReview of ${VERSION}`);
  }
  const request = objectOf(body.request);
  const uid = textOf(request.uid);
  if (uid === '' || uid.length > MOST_UID) return problem('request.uid is no text of 1 to 128 characters');
  const answered = (result: InjectionResult, response: JsonObject, message?: string): Result<ReviewAnswer> => {
    const review = { apiVersion: VERSION, kind: 'AdmissionReview', response: { uid, ...response } };
    return ok({ result, review, ...given({ message }) });
  };
  const denied = (result: InjectionResult, message: string): Result<ReviewAnswer> =>
    answered(result, { allowed: false, status: { code: 400, reason: 'BadRequest', message } }, message);
  const wrong = wrongRequest(request);
  if (wrong !== undefined) return denied('failed', wrong);
  const pod = objectOf(request.object);
  if (isOptedOut(pod) || options.excluded.includes(textOf(request.namespace))) {
    return answered('unchanged', { allowed: true });
  }
  const rewriting = rewritePod(pod, options);
  if (rewriting.type === 'refused') return denied('refused', rewriting.problem.message);
  const texts = rewriting.warnings.map(({ path, message }) => `${displayPath(path)}: ${message}`);
  const warnings = texts.length === 0 ? {} : { warnings: texts.map((text) => text.slice(0, MOST_WARNING)) };
  if (rewriting.type === 'unchanged') return answered('unchanged', { allowed: true, ...warnings });
  const patch = Buffer.from(JSON.stringify(patchOf(pod, rewriting.pod))).toString('base64');
  return answered('rewritten', { allowed: true, patchType: 'JSONPatch', patch, ...warnings });
}

/** Why a request is not for this webhook. */
function wrongRequest({ operation, resource, subResource, object }: JsonObject): string | undefined {
  const { group, version, resource: plural } = objectOf(resource);
  const isPods = (group ?? '') === '' && version === 'v1' && plural === 'pods' && (subResource ?? '') === '';
  if (operation !== 'CREATE' || !isPods) return 'the webhook reviews Pods (v1) at their creation, and nothing else';
  return isJsonObject(object) && isJsonObject(object.metadata) && isJsonObject(object.spec)
    ? undefined
    : 'request.object is no Pod with metadata and spec';
}

/** A JSON Patch of the members of `metadata` and `spec`: only these are rewritten. */
function patchOf(before: JsonObject, after: JsonObject): readonly JsonObject[] {
  return ['metadata', 'spec'].flatMap((part) => {
    const [was, is] = [objectOf(before[part]), objectOf(after[part])];
    return Object.entries(is).flatMap(([member, value]) =>
      value === undefined || jsonEquals(was[member], value)
        ? []
        : [{ op: 'add', path: `/${part}/${pointer(member)}`, value }],
    );
  });
}

function pointer(member: string): string {
  return member.replaceAll('~', '~0').replaceAll('/', '~1');
}
