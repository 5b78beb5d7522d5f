// TraceLine: a batch of frames as one line of a simulation's trace.

import { type Batch, MAIL } from '../threads/wire.ts';

const KINDS = Object.entries(MAIL);

export function lineOf(batch: Batch | undefined): string {
  if (batch === undefined) return 'nothing';
  const signals = batch.signals.map(({ kind, ...rest }) => `${kind} ${JSON.stringify(rest, withoutPorts)}`);
  const mail = batch.mail.map(([kind, ...rest]) => `${nameOf(kind)} ${JSON.stringify(rest)}`);
  return [`received ${batch.received} settled ${batch.settled}`, ...signals, ...mail].join(' | ');
}

function nameOf(kind: number): string {
  return KINDS.find(([, value]) => value === kind)?.[0] ?? String(kind);
}

function withoutPorts(member: string, value: unknown): unknown {
  return member === 'port' ? undefined : value;
}
