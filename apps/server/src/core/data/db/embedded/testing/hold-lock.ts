import { parentPort, workerData } from 'node:worker_threads';

import { lockDataDir } from '../lock.ts';

// Run as a thread of its own: tries for the lock of each folder in the very moment that all threads have come to it.
const { folders, threads, arrived } = workerData as { folders: string[]; threads: number; arrived: Int32Array };
const won = folders.map((folder, round) => {
  Atomics.add(arrived, round, 1);
  while (Atomics.load(arrived, round) < threads);
  try {
    lockDataDir(folder);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'DATA_DIR_IN_USE') return false;
    throw error;
  }
});
parentPort?.postMessage(won);
