/** The nil UUID (RFC 9562 section 5.9): sorts before every id, and no record has it. */
export const nilId = '00000000-0000-0000-0000-000000000000';
