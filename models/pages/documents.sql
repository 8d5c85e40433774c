-- The document of each visit that loaded one over the network.
-- scope: by page
-- kept as: view
-- visit_id: the visit; all columns are those of the table documents, which describes them
SELECT visit_id, request_id, server AS host, secure, server_ip, asn, connection_id, certificate_id FROM page_documents
