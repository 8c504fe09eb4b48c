import type { AuditFilter, AuditRow } from '@krmhub/catalog';
import { AUDIT_ACTIONS, describeAction } from '@krmhub/schema';
import { operateAuditPath } from '../addresses.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Reference, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { Field } from './field.js';

export interface AuditLogPageData {
  rows: readonly AuditRow[];
  filter: Pick<AuditFilter, 'actor' | 'action' | 'object' | 'outcome'>;
  /** Sequence before which the next page begins; absent at the end. */
  next: number | undefined;
  isFirst: boolean;
}

const FIELDS = [
  ['actor', 'Actor', 'Name or ID of a token; empty for all.'],
  ['action', 'Action', 'For example release.publish, or token for all of tokens.'],
  ['object', 'Object', 'Its beginning, for example release/example.com/.'],
] as const;

export function AuditLogPage({ shown: { rows, filter, next, isFirst } }: { shown: AuditLogPageData }) {
  const { at } = useSite();
  return (
    <>
      <h1>Audit log</h1>
      <form class="form" action={at(operateAuditPath())}>
        {FIELDS.map(([name, label, hint]) => (
          <Field
            field={name}
            label={label}
            value={filter[name] ?? ''}
            maxlength={500}
            list={name === 'action' ? 'actions' : undefined}
          >
            {hint}
          </Field>
        ))}
        <datalist id="actions">
          {AUDIT_ACTIONS.map((action) => (
            <option value={action} />
          ))}
        </datalist>
        <p class="entry">
          <label for="outcome">Outcome</label>
          <select id="outcome" name="outcome">
            {['', 'done', 'refused'].map((outcome) => (
              <option value={outcome} selected={outcome === (filter.outcome ?? '')}>
                {outcome === '' ? 'all' : outcome}
              </option>
            ))}
          </select>
        </p>
        <div class="buttons">
          <button type="submit">Show</button>
        </div>
      </form>
      {rows.length === 0 ? (
        <p>No rows{next === undefined ? '' : ' here'}.</p>
      ) : (
        <ul class="operate-list">
          {rows.map((row) => (
            <AuditItem row={row} />
          ))}
        </ul>
      )}
      <Pages
        first={isFirst ? undefined : operateAuditPath(filter)}
        next={next === undefined ? undefined : operateAuditPath({ ...filter, before: next })}
      />
    </>
  );
}

function AuditItem({ row }: { row: AuditRow }) {
  const { at } = useSite();
  const { sequence, actor, credential, action, object, outcome, address, requestId, detail } = row;
  const facts: [name: string, value: string][] = [
    ...(address === undefined ? [] : [['from', address] satisfies [string, string]]),
    ...(requestId === undefined ? [] : [['request', requestId] satisfies [string, string]]),
    ...Object.entries(detail ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  ];
  return (
    <li id={`row-${sequence}`}>
      <p>
        <Time at={row.at} /> <b title={describeAction(action)}>{action}</b>{' '}
        <Reference value={object} max={500} /> by{' '}
        <a href={at(operateAuditPath({ actor: credential ?? actor }))}>
          <Text value={actor} max={100} />
        </a>{' '}
        {outcome === 'refused' ? <Label tone="warning">refused</Label> : null}
      </p>
      {facts.length === 0 ? null : (
        <ul class="found-facts">
          {facts.map(([name, value]) => (
            <li>
              {name} <Text value={value} max={500} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
