import { requestBytes, runLoad, type Measured } from './load.ts';
import type { Bench } from './scenario.ts';

const connections = 16;
/** Well below saturation: a closed loop at full load would measure how the processor is shared, not who waits. */
const perSecond = 400;

/** Reads contacts by id in turn at a constant rate, independent of other load. */
export function pacedReads({ atrium, seed }: Pick<Bench, 'atrium' | 'seed'>, durationMs: number): Promise<Measured> {
  const requests = contactReads(seed);
  return runLoad({ port: atrium.port, requests, status: 200, connections, durationMs, pace: perSecond });
}

export function contactReads({ contactIds, token }: Bench['seed']): Buffer[] {
  return contactIds.map((id) => requestBytes('GET', `/api/v1/secure/contacts/${id}`, { token }));
}
