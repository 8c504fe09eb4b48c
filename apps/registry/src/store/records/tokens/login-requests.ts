import { defined } from '@krmhub/schema/defined';
import { eq, sql } from 'drizzle-orm';
import type { LoginCounts, LoginRequestRecord, LoginStore } from '../../login-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { loginRequests } from '../schema/login-requests.js';
import { storedSignIn } from './sign-ins.js';
import { insertToken } from './tokens.js';

const byHash = query((db) =>
  db
    .select()
    .from(loginRequests)
    .where(eq(loginRequests.hash, sql.placeholder('hash'))),
);
const byCode = query((db) =>
  db
    .select()
    .from(loginRequests)
    .where(eq(loginRequests.code, sql.placeholder('code'))),
);
const deleteExpired = text('DELETE FROM login_request WHERE expires_at <= :now');
/** The program did not get its token yet. */
const WAITS = `state IN ('pending', 'approved')`;
const countAll = text<{ total: number | string }>('SELECT count(*) AS total FROM login_request');
/** Requests that ended go first: with them, nobody ends the logins of others. */
const deleteOldest = text(
  `DELETE FROM login_request WHERE hash IN (SELECT hash FROM login_request
     ORDER BY CASE WHEN ${WAITS} THEN 1 ELSE 0 END, created_at, hash DESC LIMIT :some)`,
);
const COUNTS = `SELECT count(CASE WHEN ${WAITS} THEN 1 END) AS waiting,
     count(CASE WHEN NOT (${WAITS}) THEN 1 END) AS ended FROM login_request`;
const countOfNetwork = text<Counts>(`${COUNTS} WHERE network = :network`);
const countOfSite = text<Counts>(`${COUNTS} WHERE network LIKE :networks`);
const answer = text(
  `UPDATE login_request SET state = :state, approval = :approval, sign_in = :signIn, sign_in_key = :signInKey
     WHERE code = :code AND state = 'pending' AND expires_at > :at`,
);
const use = text(
  `UPDATE login_request SET state = 'used', sign_in = NULL, sign_in_key = NULL
     WHERE hash = :hash AND state = 'approved' AND expires_at > :at`,
);

/** Databases return numbers or texts. */
type Counts = Record<keyof LoginCounts, number | string>;

function isReached(found: Counts | undefined, max: LoginCounts): boolean {
  return found !== undefined && (Number(found.waiting) >= max.waiting || Number(found.ended) >= max.ended);
}

export function loginRows({ readOne, write }: Sql): LoginStore {
  return {
    addLoginRequest: ({ signIn: _, ...request }, { max, maxOfNetwork, site }) =>
      write(function* () {
        yield* deleteExpired.run({ now: request.createdAt });
        const { network, code } = request;
        if (isReached(yield* countOfNetwork.first({ network }), maxOfNetwork)) return 'too-many';
        const ofSite = site && (yield* countOfSite.first({ networks: `${site.networks}%` }));
        if (site !== undefined && isReached(ofSite, site.max)) return 'too-many';
        if ((yield* byCode.first({ code })) !== undefined) return 'same-code';
        // Sorting them at each request would delay all other writes.
        const some = Number((yield* countAll.first())!.total) - (max - 1);
        if (some > 0) yield* deleteOldest.run({ some });
        yield* change((db) => db.insert(loginRequests).values(request)).run();
        return 'added';
      }),
    loginRequest: (by) =>
      readOne(function* () {
        const row = 'hash' in by ? yield* byHash.first(by) : yield* byCode.first(by);
        return row && record(row);
      }),
    answerLogin: (code, given, act) =>
      write(function* () {
        const { signIn, ...allowed } = given === 'denied' ? {} : given;
        const isDenied = given === 'denied';
        const [state, approval] = isDenied ? ['denied', null] : ['approved', JSON.stringify(allowed)];
        if (signIn !== undefined && (yield* storedSignIn(signIn)) === undefined) return false;
        const sealed = { signIn: signIn?.id ?? null, signInKey: signIn?.key ?? null };
        if ((yield* answer.run({ code, state, approval, ...sealed, at: act.at })) === 0) return false;
        const { client, address } = (yield* byCode.first({ code }))!;
        const { scopes, days } = isDenied ? {} : given;
        const detail = { client, address, ...defined({ scopes: scopes?.join(' '), days }) };
        const action = isDenied ? ('login.deny' as const) : ('login.approve' as const);
        yield* appendAudit({ ...act, action, object: 'login', outcome: 'done', detail });
        return true;
      }),
    useLogin: (request, { record: token, hash, origin }) =>
      write(function* () {
        if ((yield* use.run({ ...request })) === 0) return false;
        yield* insertToken(token, hash, origin);
        return true;
      }),
  };
}

function record(row: typeof loginRequests.$inferSelect): LoginRequestRecord {
  const { approval, signIn: id, signInKey: key, ...request } = row;
  const signIn = id === null || key === null ? undefined : { id, key };
  return { ...request, ...defined({ approval: approval ?? undefined, signIn }) };
}
