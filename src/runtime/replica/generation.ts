/**
 * Raised whenever the engine may compute something else from equal inputs. Replicas of different generations do not send
 * at the same time: else an upgrade would flap, and what one replica removes another would put back.
 */
export const ENGINE_GENERATION = 3;
