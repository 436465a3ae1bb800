/**
 * The binary protocol's messages in the language of Protocol Buffers, from the field tables of Riak's protocol: its
 * names and numbers are the interface. Only messages that this version serves are here.
 */
/** The messages; `schema.ts` parses them together with those of buckets, MapReduce and transactions. */
export const schemaText = `
syntax = "proto2";

message RpbErrorResp {
  required bytes errmsg = 1;
  required uint32 errcode = 2;
}

message RpbGetClientIdResp {
  required bytes client_id = 1;
}

message RpbAuthReq {
  required bytes user = 1;
  required bytes password = 2;
}
message RpbSetClientIdReq {
  required bytes client_id = 1;
}

message RpbGetServerInfoResp {
  optional bytes node = 1;
  optional bytes server_version = 2;
}

message RpbPair {
  required bytes key = 1;
  optional bytes value = 2;
}

message RpbLink {
  optional bytes bucket = 1;
  optional bytes key = 2;
  optional bytes tag = 3;
}

message RpbContent {
  required bytes value = 1;
  optional bytes content_type = 2;
  optional bytes charset = 3;
  optional bytes content_encoding = 4;
  optional bytes vtag = 5;
  repeated RpbLink links = 6;
  optional uint32 last_mod = 7;
  optional uint32 last_mod_usecs = 8;
  repeated RpbPair usermeta = 9;
  repeated RpbPair indexes = 10;
  optional bool deleted = 11;
}

message RpbGetReq {
  required bytes bucket = 1;
  required bytes key = 2;
  optional uint32 r = 3;
  optional uint32 pr = 4;
  optional bool basic_quorum = 5;
  optional bool notfound_ok = 6;
  optional bytes if_modified = 7;
  optional bool head = 8;
  optional bool deletedvclock = 9;
  optional uint32 timeout = 10;
  optional bool sloppy_quorum = 11;
  optional uint32 n_val = 12;
  optional bytes type = 13;
  optional uint32 node_confirms = 14;
}

message RpbGetResp {
  repeated RpbContent content = 1;
  optional bytes vclock = 2;
  optional bool unchanged = 3;
}

message RpbPutReq {
  required bytes bucket = 1;
  optional bytes key = 2;
  optional bytes vclock = 3;
  required RpbContent content = 4;
  optional uint32 w = 5;
  optional uint32 dw = 6;
  optional bool return_body = 7;
  optional uint32 pw = 8;
  optional bool if_not_modified = 9;
  optional bool if_none_match = 10;
  optional bool return_head = 11;
  optional uint32 timeout = 12;
  optional bool asis = 13;
  optional bool sloppy_quorum = 14;
  optional uint32 n_val = 15;
  optional bytes type = 16;
  optional uint32 node_confirms = 17;
}

message RpbPutResp {
  repeated RpbContent content = 1;
  optional bytes vclock = 2;
  optional bytes key = 3;
}

message RpbDelReq {
  required bytes bucket = 1;
  required bytes key = 2;
  optional uint32 rw = 3;
  optional bytes vclock = 4;
  optional uint32 r = 5;
  optional uint32 w = 6;
  optional uint32 pr = 7;
  optional uint32 pw = 8;
  optional uint32 dw = 9;
  optional uint32 timeout = 10;
  optional bool sloppy_quorum = 11;
  optional uint32 n_val = 12;
  optional bytes type = 13;
}
`;
