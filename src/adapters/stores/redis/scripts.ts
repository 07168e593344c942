import { createHash } from 'node:crypto';
import { VERSION_LENGTH } from './layout.ts';

/** A script that Redis runs as one step. */
export interface Script {
  readonly source: string;
  readonly sha: string;
}

/** How many of the last batches Redis remembers by id. */
export const REMEMBERED = 4096;
/** A writer without a beat for this time is forgotten and must open its session again. */
const WRITER_TTL_MS = 3_600_000;

/**
 * Opens a session, and creates the store if there is none.
 * KEYS: state, index, writer. ARGV: marker for a new store, session, count of the caller's last known batch.
 * Returns [marker, count, id of that batch, id of the newest batch, whether the store is new]. No process uses a new store
 * before BEGIN, since its index may be incomplete.
 *
 * The script starts with DEL: after it Redis allows writes even if its memory is full, so that readers can open a session.
 */
export const OPEN = script(`
redis.call('DEL', KEYS[3])
redis.call('SET', KEYS[3], ARGV[2], 'PX', ${WRITER_TTL_MS})
local marker = redis.call('HGET', KEYS[1], 'marker')
local begins = 0
if not marker or not redis.call('ZSCORE', KEYS[2], 'm' .. marker) then
  begins = 1
  if not marker or redis.call('HGET', KEYS[1], 'begins') ~= marker then
    marker = ARGV[1]
    redis.call('DEL', KEYS[1])
    redis.call('ZREMRANGEBYLEX', KEYS[2], '[m', '(n')
    redis.call('HSET', KEYS[1], 'marker', marker, 'count', 0, 'begins', marker)
  end
end
local count = redis.call('HGET', KEYS[1], 'count') or '0'
local found = redis.call('HMGET', KEYS[1], tonumber(ARGV[3]) % ${REMEMBERED}, tonumber(count) % ${REMEMBERED})
return { marker, count, found[1] or '', found[2] or '', tostring(begins) }
`);

/**
 * Declares the index of a new store complete, so that all processes may use the store.
 * KEYS as for OPEN. ARGV: marker. Returns 0 if another store has replaced it. The deletion comes first as in OPEN.
 */
export const BEGIN = script(`
if redis.call('HGET', KEYS[1], 'marker') ~= ARGV[1] then return '0' end
redis.call('ZREMRANGEBYLEX', KEYS[2], '[m', '(n')
redis.call('ZADD', KEYS[2], 0, 'm' .. ARGV[1])
redis.call('HSET', KEYS[1], 'begins', '')
return '1'
`);

/**
 * Reads the state and extends the session.
 * KEYS as for OPEN. ARGV: count of the caller's last known batch.
 * Returns [marker, count, id of that batch, id of the newest batch, session].
 */
export const BEAT = script(`
local marker = redis.call('HGET', KEYS[1], 'marker') or ''
local count = redis.call('HGET', KEYS[1], 'count') or '0'
local found = redis.call('HMGET', KEYS[1], tonumber(ARGV[1]) % ${REMEMBERED}, tonumber(count) % ${REMEMBERED})
if marker ~= '' and not redis.call('ZSCORE', KEYS[2], 'm' .. marker) then marker = '' end
local session = redis.call('GET', KEYS[3]) or ''
if session ~= '' then redis.call('PEXPIRE', KEYS[3], ${WRITER_TTL_MS}) end
return { marker, count, found[1] or '', found[2] or '', session }
`);

/**
 * Writes a batch.
 * KEYS: state, index, writer, the record of each write. ARGV: marker, session, batch id, whether it was sent before, channel,
 * JSON of the keys that change; then four per write: operation (check, delete, set), the required version (`*` any, `-`
 * absent), the member of the index, the bytes.
 * Returns [written | conflict | session | marker | right, count or the missing right].
 *
 * Redis does not roll back a script that fails half way. So the script checks all that could make it fail, the rights of
 * the user too, before its first write.
 *
 * Redis refuses a script for lack of memory only at its first write. So a batch that only deletes starts with a deletion and
 * passes; every other batch starts with a write that needs memory.
 */
export const WRITE = script(`
local state, index, channel = KEYS[1], KEYS[2], ARGV[5]
local marker, session, batch = ARGV[1], ARGV[2], ARGV[3]
local record = KEYS[4] or state
local calls = {
  { 'GET', KEYS[3] }, { 'HGET', state, 'marker' }, { 'HVALS', state }, { 'ZSCORE', index, 'm' },
  { 'GETRANGE', record, 0, 1 }, { 'HINCRBY', state, 'count', 1 }, { 'HSET', state, '0', batch }, { 'DEL', record },
  { 'SET', record, '' }, { 'ZADD', index, 0, 'k' }, { 'UNLINK', record }, { 'ZREM', index, 'k' },
  { 'PUBLISH', channel, '' },
}
for i = 1, #calls do
  if not redis.acl_check_cmd(unpack(calls[i])) then return { 'right', string.lower(calls[i][1]) } end
end
if redis.call('GET', KEYS[3]) ~= session then return { 'session', '0' } end
if redis.call('HGET', state, 'marker') ~= marker then return { 'marker', '0' } end
if not redis.call('ZSCORE', index, 'm' .. marker) then return { 'marker', '0' } end
if ARGV[4] == '1' then
  local known = redis.call('HVALS', state)
  for i = 1, #known do
    if known[i] == batch then return { 'written', '0' } end
  end
end
local writes = (#ARGV - 6) / 4
local adds, deletes = false, nil
for i = 1, writes do
  local what, wanted = ARGV[3 + 4 * i], ARGV[4 + 4 * i]
  if wanted ~= '*' then
    local found = redis.call('GETRANGE', KEYS[3 + i], 0, ${VERSION_LENGTH - 1})
    if found == '' then found = '-' end
    if found ~= wanted then return { 'conflict', '0' } end
  end
  if what == 'set' then adds = true end
  if what == 'delete' then deletes = KEYS[3 + i] end
end
if not adds and not deletes then return { 'written', '0' } end
if not adds then redis.call('DEL', deletes) end
local count = redis.call('HINCRBY', state, 'count', 1)
redis.call('HSET', state, count % ${REMEMBERED}, batch)
for i = 1, writes do
  local what, member, record = ARGV[3 + 4 * i], ARGV[5 + 4 * i], KEYS[3 + i]
  if what == 'delete' then
    redis.call('UNLINK', record)
    redis.call('ZREM', index, member)
  elseif what == 'set' then
    redis.call('SET', record, ARGV[6 + 4 * i])
    redis.call('ZADD', index, 0, member)
  end
end
redis.call('PUBLISH', channel, marker .. ' ' .. count .. ' ' .. batch .. ' ' .. ARGV[6])
return { 'written', tostring(count) }
`);

/** KEYS: index. ARGV: marker, range from and to, limit. Returns members of the index, or one empty text if the marker is another one. */
export const PAGE = script(`
if not redis.call('ZSCORE', KEYS[1], 'm' .. ARGV[1]) then return { '' } end
return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
`);

/**
 * KEYS: state, index, writer, a record. ARGV: channel. Returns the rights that the user lacks for the other scripts.
 * Changes nothing.
 */
export const PROBE = script(`
local state, index, writer, record = unpack(KEYS)
local calls = {
  { 'HGET', state, 'f' }, { 'HMGET', state, 'f' }, { 'HVALS', state }, { 'HSET', state, 'f', '1' },
  { 'HINCRBY', state, 'f', 1 }, { 'DEL', state },
  { 'ZSCORE', index, 'm' }, { 'ZADD', index, 0, 'm' }, { 'ZREM', index, 'm' }, { 'ZRANGEBYLEX', index, '-', '+' },
  { 'ZREMRANGEBYLEX', index, '-', '+' },
  { 'SET', writer, '1', 'PX', 1000 }, { 'GET', writer }, { 'PEXPIRE', writer, 1000 },
  { 'GETRANGE', record, 0, 1 }, { 'UNLINK', record }, { 'MGET', record },
  { 'SET', record, '1' },
  { 'PUBLISH', ARGV[1], '' }, { 'SUBSCRIBE', ARGV[1] },
  { 'SCAN', '0', 'MATCH', '*', 'COUNT', '1' }, { 'EVAL', 'return 1', '0' }, { 'PING' },
}
local missing = {}
for i = 1, #calls do
  if not redis.acl_check_cmd(unpack(calls[i])) then
    missing[#missing + 1] = string.lower(calls[i][1]) .. ' ' .. (calls[i][2] or '')
  end
end
return missing
`);

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}
