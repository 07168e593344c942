import { rfc3339 } from '../text/time.ts';

/** That an agent, or another caller that gave the name of its cluster, was refused by a server. */
export type AgentRefusal = {
  /** Constant UpperCamelCase word. */
  readonly reason: string;
  /** A sentence for people; contains no secret. */
  readonly message: string;
  /** Of the caller, without the port. */
  readonly address: string;
  /** In milliseconds since 1970. */
  readonly at: number;
};

/** A refusal in one line, as in `refused at 2026-01-01T00:00:00Z from 10.0.0.7: WrongToken: ...`. */
export function refusalText({ reason, message, address, at }: AgentRefusal): string {
  return `refused at ${rfc3339(at)} from ${address}: ${reason}: ${message}`;
}
