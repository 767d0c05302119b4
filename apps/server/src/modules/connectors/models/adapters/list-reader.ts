import { readOneAnswer } from '#core/outbound/reading-worker';
import { readList } from '#modules/connectors/models/adapters/adapters';

readOneAnswer(readList);
