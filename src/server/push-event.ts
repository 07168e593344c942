import { textOf } from '../model/text/json.ts';
import { bodyOf, type Header } from './hook-body.ts';

/** The full name of the ref that a hook tells a push to; undefined: the call is about no push, or its body names no ref. */
export function pushedRef(header: Header, body: Uint8Array): string | undefined {
  const isPush =
    header('X-Gitlab-Event') === 'Push Hook' || (header('X-Gitea-Event') ?? header('X-GitHub-Event')) === 'push';
  const ref = isPush ? textOf(bodyOf(header, body).ref) : '';
  return ref === '' ? undefined : ref;
}
