import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';

/** grpc-js writes lines of its own to standard error; all that they say reaches our log as the end of a stream. */
export function silenceGrpc(): void {
  setLogVerbosity(logVerbosity.NONE);
}
