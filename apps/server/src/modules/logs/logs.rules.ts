/** The bucket of a histogram that contains the percentile; undefined without requests. */
export function percentileOf(
  histogram: readonly { bucket: number; requests: number }[],
  percent: number,
): number | undefined {
  const total = histogram.reduce((sum, { requests }) => sum + requests, 0);
  let seen = 0;
  for (const { bucket, requests } of histogram) {
    seen += requests;
    if (seen * 100 >= total * percent && total > 0) return bucket;
  }
  return undefined;
}

/** The parts of `cleanup.archiveLocation`, a relative path in the object store; undefined if it is invalid. */
export function archiveFolders(location: string): string[] | undefined {
  if (location === '') return [];
  const folders = location.replace(/\/$/, '').split('/');
  const isRelative = folders.every((folder) => /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/.test(folder));
  return isRelative && folders.length <= maxFolders ? folders : undefined;
}

const maxFolders = 8;
